#include "data_pipeline/tokenizer/utf8_lines.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

namespace segue {
namespace {

// The length of the character at the beginning; 0 when there is none. Neither surrogates, nor what is longer than it
// need be, nor what lies beyond U+10FFFF are characters.
size_t character_bytes(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if (!continues_character(text[i])) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  const bool is_one = !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f) &&
                      !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
  return is_one ? bytes : 0;
}

// Not more than `most`, and not inside a character.
size_t cut_before(std::string_view text, size_t most) {
  size_t cut = most;
  while (cut > most - 4 && continues_character(text[cut])) --cut;
  return cut;
}

}  // namespace

size_t valid_utf8_bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = character_bytes(text.substr(at));
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
}

void Utf8Lines::begin_file(const std::string& file, int64_t offset) {
  file_ = file;
  pending_.clear();
  offset_ = offset;
}

void Utf8Lines::take_line(std::string_view text, bool ended) {
  const size_t valid = valid_utf8_bytes(text);
  if (valid < text.size())
    throw DataError("{}: byte {}: expected UTF-8, found byte 0x{:02x}", file_, offset_ + static_cast<int64_t>(valid),
                    static_cast<uint8_t>(text[valid]));
  lines_.push_back({text, offset_, ended});
  offset_ += static_cast<int64_t>(text.size()) + (ended ? 1 : 0);
}

void Utf8Lines::take_long_lines(std::string_view& text) {
  constexpr auto kLongest = static_cast<size_t>(kLongestLine);
  while (text.size() > kLongest) {
    const size_t bytes = cut_before(text, kLongest);
    take_line(text.substr(0, bytes), false);
    text.remove_prefix(bytes);
  }
}

const std::vector<TextLine>& Utf8Lines::append(std::string_view text) {
  lines_.clear();
  block_ = std::exchange(pending_, {});
  block_ += text;
  std::string_view left = block_;
  for (size_t feed = left.find('\n'); feed != std::string_view::npos; feed = left.find('\n')) {
    std::string_view line = left.substr(0, feed);
    take_long_lines(line);
    take_line(line, true);
    left.remove_prefix(feed + 1);
  }
  take_long_lines(left);
  pending_ = left;
  return lines_;
}

const std::vector<TextLine>& Utf8Lines::end_file() {
  lines_.clear();
  block_ = std::exchange(pending_, {});
  if (!block_.empty()) take_line(block_, false);
  return lines_;
}

}  // namespace segue
