// Text on its way to tokens: what normalizers and pre-tokenizers have made of it, and where each byte came from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace segue {

// The length of the character at the beginning of valid UTF-8.
inline size_t character_size(char first) {
  const auto byte = static_cast<uint8_t>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
char32_t decode_character(std::string_view text, size_t at);
void append_character(char32_t character, std::string& text);

// Text that a model has no token for, or that grows beyond all measure.
struct SubwordError {
  std::string reason;
};

// Text whose every byte knows at which byte of the source the character that it was made of begins. What was inserted
// has the place of what follows it.
class AlignedText {
 public:
  AlignedText() = default;
  // The source itself, from byte `begin` of it on.
  AlignedText(std::string_view source, uint32_t begin) : bytes_(source), first_(begin) {}

  const std::string& bytes() const { return bytes_; }
  std::string_view view(size_t begin, size_t end) const { return std::string_view(bytes_).substr(begin, end - begin); }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  // Where byte `at` came from; for the end of the text, where the source ends.
  uint32_t source(size_t at) const { return origins_.empty() ? first_ + static_cast<uint32_t>(at) : origins_[at]; }

 private:
  friend class AlignedTextBuilder;
  std::string bytes_;
  uint32_t first_ = 0;
  std::vector<uint32_t> origins_;  // one more than bytes; empty: the text is its own source
};

class AlignedTextBuilder {
 public:
  static constexpr size_t kMostBytes = size_t{16} << 20;  // text that normalizers make longer is none

  explicit AlignedTextBuilder(size_t expected_bytes) {
    text_.bytes_.reserve(expected_bytes);
    text_.origins_.reserve(expected_bytes + 1);
  }
  void append(std::string_view bytes, uint32_t origin) {
    check_size(bytes.size());
    text_.bytes_.append(bytes);
    text_.origins_.insert(text_.origins_.end(), bytes.size(), origin);
  }
  // What a range of the source became: its first character has the range's bytes, the others none.
  void append_made(std::string_view bytes, uint32_t begin, uint32_t end) {
    const size_t first = bytes.empty() ? 0 : std::min(bytes.size(), character_size(bytes.front()));
    append(bytes.substr(0, first), begin);
    append(bytes.substr(first), end);
  }
  void append(const AlignedText& from, size_t begin, size_t end) {
    check_size(end - begin);
    text_.bytes_.append(from.bytes_, begin, end - begin);
    for (size_t at = begin; at < end; ++at) text_.origins_.push_back(from.source(at));
  }
  size_t size() const { return text_.bytes_.size(); }
  AlignedText finish(uint32_t source_end) {
    text_.origins_.push_back(source_end);
    return std::move(text_);
  }

 private:
  void check_size(size_t more) const {
    if (text_.bytes_.size() + more > kMostBytes)
      throw SubwordError{"the tokenizer makes more than 16 MiB of a part of the text"};
  }

  AlignedText text_;
};

// A range of a text that a model makes tokens of by itself.
struct Piece {
  size_t begin = 0;
  size_t end = 0;
  bool joined = false;   // to the one before: no token may span both, but they are one piece of text
  bool is_part = false;  // joined to the one before or behind
  int64_t token = -1;    // an added token, which the range is already
};

struct PieceText {
  AlignedText text;
  std::vector<Piece> pieces;
};

// Where a text that is encoded in parts lies.
struct TextPlace {
  bool begins_source = false;  // at byte 0 of the whole text
  bool goes_on_left = false;   // nothing is stripped from or put before its beginning
  bool goes_on_right = false;
};

}  // namespace segue
