// Runs of bits in words of 64, the lowest bit first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace segue {

// The 64 bits from bit `first` on, which may lie before the first word; zeros where there are no words.
inline uint64_t bits_from(std::span<const uint64_t> words, int64_t first) {
  constexpr int64_t kWord = 64;
  const auto at = [words](int64_t word) {
    return word < 0 || word >= std::ssize(words) ? 0 : words[static_cast<size_t>(word)];
  };
  const int64_t word = first >> 6;  // rounds down, also below zero
  const int64_t shift = first - word * kWord;
  return shift == 0 ? at(word) : at(word) >> shift | at(word + 1) << (kWord - shift);
}

// Sets bits first .. last.
inline void set_bits(std::span<uint64_t> words, int64_t first, int64_t last) {
  constexpr int64_t kWord = 64;
  for (int64_t word = first / kWord; word <= last / kWord; ++word) {
    const int64_t low = std::max<int64_t>(first - word * kWord, 0);
    const int64_t high = std::min<int64_t>(last - word * kWord, kWord - 1);
    words[static_cast<size_t>(word)] |= ~uint64_t{0} >> (kWord - 1 - (high - low)) << low;
  }
}

// Sets in `to` the bits that `words` has set, those from bit `first` on `count` further, and as many between.
inline void insert_set_bits(std::span<const uint64_t> words, int64_t first, int64_t count, std::span<uint64_t> to) {
  constexpr int64_t kWord = 64;
  for (int64_t word = 0; word < std::ssize(to); ++word) {
    const int64_t begin = word * kWord;
    const int64_t below = std::clamp<int64_t>(first - begin, 0, kWord);          // bits that stay where they are
    const int64_t after = std::clamp<int64_t>(first + count - begin, 0, kWord);  // the first of those that move
    const auto low_bits = [](int64_t bits) { return bits == kWord ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; };
    to[static_cast<size_t>(word)] |=
        (bits_from(words, begin) & low_bits(below)) | (bits_from(words, begin - count) & ~low_bits(after));
  }
  if (count > 0) set_bits(to, first, first + count - 1);
}

}  // namespace segue
