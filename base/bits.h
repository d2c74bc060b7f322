// Runs of bits in words of 64, the lowest bit first.
#pragma once

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

}  // namespace segue
