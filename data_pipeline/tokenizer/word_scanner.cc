#include "data_pipeline/tokenizer/word_scanner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "data_pipeline/tokenizer/utf8_lines.h"

namespace segue {
namespace {

// Bytes at which white space may begin: ASCII's, and the first bytes of all other in UTF-8.
constexpr std::array<bool, 256> kMayBeWhiteSpace = [] {
  std::array<bool, 256> may{};
  for (const int byte : {0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1c, 0x1d, 0x1e, 0x1f, 0x20, 0xc2, 0xe1, 0xe2, 0xe3})
    may.at(static_cast<size_t>(byte)) = true;
  return may;
}();

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

// How many bytes at the beginning are surely of a word: those of ASCII above the space, eight at a time. Of the eight,
// a bit is set above the first byte below 0x21, and of every byte beyond ASCII.
size_t plain_bytes(std::string_view text) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kOnes = 0x0101010101010101, kHighest = 0x80 * kOnes;
  size_t at = 0;
  for (uint64_t eight = 0; text.size() - at >= sizeof(eight); at += sizeof(eight)) {
    std::memcpy(&eight, text.data() + at, sizeof(eight));
    const uint64_t others = ((eight - 0x21 * kOnes) | eight) & kHighest;
    if (others != 0) return at + static_cast<size_t>(std::countr_zero(others)) / 8;
  }
  return at;
}

// U+2000 to U+200A, U+2028, U+2029, U+202F; U+205F.
bool is_general_punctuation_space(uint8_t second, uint8_t third) {
  if (second == 0x81) return third == 0x9f;
  return second == 0x80 && ((third >= 0x80 && third <= 0x8a) || third == 0xa8 || third == 0xa9 || third == 0xaf);
}

}  // namespace

size_t white_space_at(std::string_view text) {
  const uint8_t first = byte_at(text, 0);
  if (!kMayBeWhiteSpace[first]) return 0;
  if (first < 0x80) return 1;
  if (text.size() < 2) return 0;
  const uint8_t second = byte_at(text, 1);
  if (first == 0xc2) return second == 0x85 || second == 0xa0 ? 2 : 0;
  if (text.size() < 3) return 0;
  const uint8_t third = byte_at(text, 2);
  if (first == 0xe1) return second == 0x9a && third == 0x80 ? 3 : 0;  // U+1680
  if (first == 0xe3) return second == 0x80 && third == 0x80 ? 3 : 0;  // U+3000
  return is_general_punctuation_space(second, third) ? 3 : 0;
}

bool has_white_space(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at)
    if (white_space_at(text.substr(at)) > 0) return true;
  return false;
}

void WordScanner::begin_file(const std::string& file, int64_t offset) {
  file_ = file;
  pending_.clear();
  offset_ = line_begin_ = offset;
  behind_return_ = -1;
}

// What the text begins with; the word may continue behind the text where there is no white space behind it.
WordScanner::Beginning WordScanner::beginning_of(std::string_view text) {
  uint8_t all = 0;
  size_t bytes = plain_bytes(text);
  size_t space = 0;
  for (; bytes < text.size(); ++bytes) {
    const uint8_t byte = byte_at(text, bytes);
    if (kMayBeWhiteSpace[byte]) space = byte < 0x80 ? 1 : white_space_at(text.substr(bytes));
    if (space > 0) break;
    all |= byte;
  }
  return {.word = text.substr(0, bytes), .space = space, .is_ascii = all < 0x80};
}

void WordScanner::append(std::string_view text, Visitor& visitor) {
  std::string_view left = text;
  if (!pending_.empty()) left = joined_.assign(pending_).append(text);
  while (!left.empty()) {
    const Beginning beginning = beginning_of(left);
    const size_t word = beginning.word.size();
    if (static_cast<int64_t>(word) > kLongestWord)
      throw DataError("{}: byte {}: expected words of at most {} bytes, found a longer one", file_, offset_,
                      kLongestWord);
    if (beginning.space == 0) break;
    if (word > 0) give_word(beginning, visitor);
    const char byte = left[word];
    offset_ += static_cast<int64_t>(word + beginning.space);
    if (byte == '\n' || byte == '\r') end_line_at(byte, offset_, visitor);
    left.remove_prefix(word + beginning.space);
  }
  pending_ = left;
}

void WordScanner::give_word(const Beginning& beginning, Visitor& visitor) const {
  const std::string_view word = beginning.word;
  const size_t valid = beginning.is_ascii ? word.size() : valid_utf8_bytes(word);
  if (valid < word.size())
    throw DataError("{}: byte {}: expected UTF-8, found byte 0x{:02x}", file_, offset_ + static_cast<int64_t>(valid),
                    byte_at(word, valid));
  visitor.word(word, offset_);
}

// `offset` is that behind the byte.
void WordScanner::end_line_at(char byte, int64_t offset, Visitor& visitor) {
  const bool belongs_to_return = byte == '\n' && behind_return_ == offset - 1;
  if (!belongs_to_return) visitor.end_line(offset - 1);
  if (byte == '\r') behind_return_ = offset;
  line_begin_ = offset;
}

void WordScanner::end_file(Visitor& visitor) {
  joined_ = std::exchange(pending_, {});
  if (!joined_.empty()) give_word({.word = joined_}, visitor);
  offset_ += static_cast<int64_t>(joined_.size());
  if (offset_ > line_begin_) visitor.end_line(offset_);
  line_begin_ = offset_;
}

}  // namespace segue
