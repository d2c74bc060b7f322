// The automaton is a double array as the library Darts-clone builds it; every step is checked.
#include "data_pipeline/tokenizer/subword/charsmap.h"

#include <cstring>

#include "base/utf8.h"
#include "data_pipeline/tokenizer/subword/unicode_data.h"
#include "data_pipeline/tokenizer/utf8_lines.h"

namespace segue {
namespace {

bool has_leaf(uint32_t unit) { return ((unit >> 8) & 1) == 1; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffff; }
uint32_t label_of(uint32_t unit) { return unit & 0x800000ff; }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

constexpr size_t kShortCluster = 6;  // bytes: longer ones are taken character by character

}  // namespace

Charsmap::Charsmap(std::string_view bytes) {
  uint32_t size = 0;
  if (bytes.size() < sizeof size) throw CharsmapError{"a table that ends in its size"};
  std::memcpy(&size, bytes.data(), sizeof size);
  bytes.remove_prefix(sizeof size);
  if (size > bytes.size() || size % sizeof(uint32_t) != 0 || size == 0)
    throw CharsmapError{"an automaton that does not fit into the table"};
  units_.resize(size / sizeof(uint32_t));
  std::memcpy(units_.data(), bytes.data(), size);
  texts_ = bytes.substr(size);
  if (valid_utf8_bytes(texts_) < texts_.size()) throw CharsmapError{"texts that are not UTF-8"};
}

std::optional<std::string_view> Charsmap::replacement(std::string_view part) const {
  uint64_t at = offset_of(units_[0]);
  for (const char c : part) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) return std::nullopt;
    at ^= byte;
    if (at >= units_.size()) return std::nullopt;
    const uint32_t unit = units_[at];
    if (label_of(unit) != byte) return std::nullopt;
    at ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (at >= units_.size()) return std::nullopt;
    const size_t begin = value_of(units_[at]);
    if (begin >= texts_.size() || continues_character(texts_[begin])) return std::nullopt;
    const std::string_view text = std::string_view(texts_).substr(begin);
    return text.substr(0, text.find('\0'));
  }
  return std::nullopt;
}

AlignedText Charsmap::apply(const AlignedText& text) const {
  const std::string& bytes = text.bytes();
  AlignedTextBuilder builder(bytes.size());
  const auto replace = [&](size_t begin, size_t end) {
    const std::optional<std::string_view> other = replacement(text.view(begin, end));
    if (!other) return false;
    // What is left out at the beginning belongs to what follows, as tokenizers counts it.
    builder.append_made(*other, text.source(builder.size() == 0 ? 0 : begin), text.source(end));
    return true;
  };
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = grapheme_end(bytes, at);
    if (end - at >= kShortCluster || !replace(at, end)) {
      for (size_t c = at; c < end;) {
        const size_t next = c + character_size(bytes[c]);
        if (!replace(c, next)) {
          if (builder.size() == 0) {
            builder.append(text.view(c, next), text.source(0));
          } else {
            builder.append(text, c, next);
          }
        }
        c = next;
      }
    }
    at = end;
  }
  return builder.finish(text.source(bytes.size()));
}

}  // namespace segue
