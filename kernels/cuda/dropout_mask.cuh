// Dropout multipliers on a GPU: the numbers of base/random.h, four elements to a block of random words.
#pragma once

#include "base/random.h"
#include "kernels/cuda/simt.cuh"
#include "kernels/dropout.h"

namespace segue::simt {

// Everything a kernel needs to draw the mask again.
struct DropoutMask {
  RandomSequence random;
  const uint64_t* step;  // on the GPU, counted on top of random.step; or null
  uint64_t first_element;
  uint32_t threshold;
  float scale;    // of what is kept
  bool is_drawn;  // otherwise every element has this scale

  // m[i] of elements element .. element + kWidth - 1 of the view.
  template <int kWidth>
  __device__ __forceinline__ void multipliers(int64_t element, float (&m)[kWidth]) const {
    if (!is_drawn) {
      for (int i = 0; i < kWidth; ++i) m[i] = scale;
      return;
    }
    const RandomSequence sequence = random_of_step();
    const uint64_t first = first_element + static_cast<uint64_t>(element);
    std::array<uint32_t, 4> words = random_block(sequence, first / 4);
    for (int i = 0; i < kWidth; ++i) {
      const uint64_t at = first + static_cast<uint64_t>(i);
      if (i > 0 && at % 4 == 0) words = random_block(sequence, at / 4);
      m[i] = multiplier(word_of(words, static_cast<int>(at % 4)));
    }
  }

  // The random numbers of the step that the GPU has come to.
  __device__ __forceinline__ RandomSequence random_of_step() const {
    RandomSequence sequence = random;
    if (step != nullptr) sequence.step += *step;
    return sequence;
  }

  // Which elements of some blocks of random words are kept: bit i of bits[b] is set when the i-th of blocks[b]'s four
  // is, with kFromBehind the (3 - i)-th. All blocks go through a round before any goes through the next, with the same
  // key.
  template <bool kFromBehind, int kBlocks>
  __device__ __forceinline__ void kept(const RandomSequence& sequence, const uint64_t (&blocks)[kBlocks],
                                       uint32_t (&bits)[kBlocks]) const {
    std::array<uint32_t, 4> words[kBlocks];
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) words[b] = random_counter(sequence, blocks[b]);
    uint32_t key[2] = {static_cast<uint32_t>(sequence.seed), static_cast<uint32_t>(sequence.seed >> 32U)};
#pragma unroll
    for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma unroll
      for (auto& word : words) philox_round(word[0], word[1], word[2], word[3], key[0], key[1]);
      key[0] += kPhiloxWeyl0;
      key[1] += kPhiloxWeyl1;
    }
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      bits[b] = 0;
      for (int i = 0; i < 4; ++i) bits[b] |= words[b][kFromBehind ? 3 - i : i] >= threshold ? 1U << i : 0U;
    }
  }

 private:
  // By comparisons: an array indexed at run time would leave the registers.
  static __device__ __forceinline__ uint32_t word_of(const std::array<uint32_t, 4>& words, int i) {
    const uint32_t low = i == 0 ? words[0] : words[1];
    const uint32_t high = i == 2 ? words[2] : words[3];
    return i < 2 ? low : high;
  }
  __device__ __forceinline__ float multiplier(uint32_t bits) const { return bits >= threshold ? scale : 0.0F; }
};

inline DropoutMask mask_of(const kernels::Dropout& dropout) {
  const bool all_dropped = dropout.p >= 1.0F;
  const double scale = all_dropped ? 0.0 : 1.0 / (1.0 - static_cast<double>(dropout.p));
  return {.random = dropout.random,
          .step = dropout.step,
          .first_element = dropout.first_element,
          .threshold = dropout_threshold(dropout.p),
          .scale = static_cast<float>(scale),
          .is_drawn = dropout.p > 0.0F && !all_dropped};
}

}  // namespace segue::simt
