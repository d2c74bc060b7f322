// Dropout multipliers drawn many at a time: the numbers of base/random.h, computed for 16 blocks at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/dropout.h"

namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL {

// Blocks side by side; one array per Philox word, so that the compiler keeps each in a vector register.
constexpr int kMaskBlocks = 16;
constexpr int kMaskElements = 4 * kMaskBlocks;
using MaskWords = std::array<uint32_t, kMaskBlocks>;

// random_block(stream, first_block + lane) for every lane: words[w][lane].
inline std::array<MaskWords, 4> random_blocks(const RandomStream& stream, uint64_t first_block) {
  std::array<MaskWords, 4> c;
  for (size_t lane = 0; lane < kMaskBlocks; ++lane) {
    const uint64_t block = first_block + lane;
    c[0][lane] = static_cast<uint32_t>(block);
    c[1][lane] = static_cast<uint32_t>(block >> 32) << 16 | stream.site;
    c[2][lane] = static_cast<uint32_t>(stream.step);
    c[3][lane] = static_cast<uint32_t>(stream.step >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(stream.seed);
  uint32_t k1 = static_cast<uint32_t>(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (size_t lane = 0; lane < kMaskBlocks; ++lane) {
      philox_round(c[0][lane], c[1][lane], c[2][lane], c[3][lane], k0, k1);
    }
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  return c;
}

// The multipliers of the 64 elements of blocks first_block .. first_block + 15.
inline void mask_chunk(const RandomStream& stream, uint64_t first_block, uint32_t threshold, float scale, float* m) {
  const std::array<MaskWords, 4> words = random_blocks(stream, first_block);
#pragma omp simd
  for (size_t lane = 0; lane < kMaskBlocks; ++lane) {
    for (size_t word = 0; word < 4; ++word) m[4 * lane + word] = words[word][lane] >= threshold ? scale : 0.0F;
  }
}

// m[e] for the `count` consecutive elements that begin at element dropout.first_element + first of the whole tensor.
// Any alignment of `first`; aligned to 4 is fastest.
inline void dropout_multipliers(const Dropout& dropout, uint64_t first, int64_t count, float* m) {
  if (dropout.p <= 0.0F || dropout.p >= 1.0F) {
    std::fill_n(m, count, dropout.p <= 0.0F ? 1.0F : 0.0F);
    return;
  }
  const uint32_t threshold = dropout_threshold(dropout.p);
  const float scale = static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout.p)));
  uint64_t element = dropout.first_element + first;
  std::array<float, kMaskElements> partial;
  while (count > 0) {
    const uint64_t skip = element % 4;
    const int64_t taken = std::min<int64_t>(count, kMaskElements - static_cast<int64_t>(skip));
    if (taken == kMaskElements) {
      mask_chunk(dropout.random, element / 4, threshold, scale, m);
    } else {
      mask_chunk(dropout.random, element / 4, threshold, scale, partial.data());
      std::copy_n(partial.data() + skip, taken, m);
    }
    element += static_cast<uint64_t>(taken);
    m += taken;
    count -= taken;
  }
}

}  // namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL
