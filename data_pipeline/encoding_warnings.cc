#include "data_pipeline/encoding_warnings.h"

#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace segue {
namespace {

// Calls `visit` with where the byte behind each of these lies. Few texts have any, and memchr looks at many at a time.
template <typename Visit>
void for_each_byte(char byte, std::span<const std::byte> text, const Visit& visit) {
  const std::byte* at = text.data();
  const std::byte* const end = at + text.size();
  while (at < end) {
    const void* found = std::memchr(at, byte, static_cast<size_t>(end - at));
    if (found == nullptr) return;
    at = static_cast<const std::byte*>(found) + 1;
    visit(at);
  }
}

}  // namespace

void EncodingWarnings::begin_file(const std::string& file, bool has_byte_order_mark, TextLook look) {
  file_ = file;
  has_zeros_ = has_returns_ = ends_with_return_ = false;
  is_utf8_ = true;
  position_ = has_byte_order_mark ? 3 : 0;
  begun_ = awaited_ = 0;
  bool has_mark = false;
  if (has_byte_order_mark) add(marks_, 1, has_mark);
  bool has_look = false;
  if (look == TextLook::kMarkup) add(tags_, 1, has_look);
  if (look == TextLook::kTable) add(tables_, 1, has_look);
  if (look == TextLook::kJson) add(json_, 1, has_look);
}

void EncodingWarnings::add(Sign& sign, int64_t count, bool& in_this_file) {
  if (count == 0) return;
  if (sign.count == 0) sign.first = file_;
  if (!std::exchange(in_this_file, true)) ++sign.files;
  sign.count += count;
}

void EncodingWarnings::follow_characters(std::span<const std::byte> text) {
  constexpr size_t kWord = sizeof(uint64_t);
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = 0;
  const auto byte = [&text](size_t place) { return std::to_integer<uint8_t>(text[place]); };
  while (at < text.size()) {
    if (awaited_ == 0 && at + kWord <= text.size()) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, kWord);
      if ((word & kHighBits) == 0) {
        at += kWord;
        continue;
      }
    }
    const uint8_t next = byte(at);
    if (awaited_ > 0) {
      if (next < least_ || next > most_) break;
      --awaited_;
      begun_ = awaited_ > 0 ? begun_ + 1 : 0;
      least_ = 0x80;
      most_ = 0xbf;
    } else if (next >= 0x80) {
      if (next < 0xc2 || next > 0xf4) break;
      begun_ = 1;
      awaited_ = next >= 0xf0 ? 3 : next >= 0xe0 ? 2 : 1;
      // Longer forms than needed, surrogates and what lies beyond Unicode are none (RFC 3629).
      least_ = next == 0xe0 ? 0xa0 : next == 0xf0 ? 0x90 : 0x80;
      most_ = next == 0xed ? 0x9f : next == 0xf4 ? 0x8f : 0xbf;
    }
    ++at;
  }
  position_ += static_cast<int64_t>(at);
  if (at == text.size()) return;
  is_utf8_ = false;
  if (others_.count == 0) first_foreign_ = position_ - begun_;
  bool is_counted = false;
  add(others_, 1, is_counted);
}

void EncodingWarnings::count(std::span<const std::byte> text) {
  if (text.empty()) return;
  if (is_utf8_) follow_characters(text);
  int64_t zeros = 0;
  for_each_byte('\0', text, [&zeros](const std::byte* /*next*/) { ++zeros; });
  add(zeros_, zeros, has_zeros_);
  int64_t returns = ends_with_return_ && text.front() == std::byte{'\n'} ? 1 : 0;
  for_each_byte('\r', text.first(text.size() - 1),
                [&returns](const std::byte* next) { returns += *next == std::byte{'\n'} ? 1 : 0; });
  ends_with_return_ = text.back() == std::byte{'\r'};
  add(returns_, returns, has_returns_);
}

std::vector<std::string> EncodingWarnings::warnings(TokenizerKind kind, TextUse use) const {
  std::vector<std::string> lines;
  const auto warn = [&lines](const Sign& sign, const std::string& what, std::string_view done) {
    if (sign.count > 0)
      lines.push_back(fmt::format("{} in {}, the first {}: {}", what, counted(sign.files, "source"), sign.first, done));
  };
  warn(marks_, counted(marks_.count, "byte order mark"), "left out");
  const std::string_view kept = use == TextUse::kTraining ? "kept, so a model learns to write them" : "read like words";
  warn(tags_, "tags of HTML or XML",
       fmt::format("{}; pandoc -t plain {} gives the text alone", kept, shell_word(tags_.first)));
  warn(json_, "braces and keys of JSON", fmt::format("{}; jq takes the text alone out of it", kept));
  warn(others_, "text that is not UTF-8",
       fmt::format("from byte {} on; its bytes are kept; iconv -f WINDOWS-1252 -t UTF-8 {} makes UTF-8 of Western text",
                   human_count(first_foreign_), shell_word(others_.first)));
  warn(tables_, "columns of a table",
       fmt::format("{}; write the column with the text to a file of its own, without its name", kept));
  warn(zeros_, counted(zeros_.count, "zero byte"), "kept, though text has none");
  warn(returns_, counted(returns_.count, "line") + (returns_.count == 1 ? " ends" : " end") + " with CR LF",
       drops_returns(kind)         ? "read like LF"
       : use == TextUse::kTraining ? "kept, so a model learns to write them; dos2unix makes them LF"
                                   : "kept, though the model may know none; dos2unix makes them LF");
  return lines;
}

}  // namespace segue
