// Dropout multipliers drawn many at a time: the numbers of base/random.h, computed for several blocks at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/vector.h"
#include "kernels/dropout.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// A Philox word of several blocks side by side, each in the low half of a lane: that half is all that a product reads,
// and what lies above it never has to be cleared.
using MaskWord = WideVector;
constexpr int kMaskLanes = static_cast<int>(kWideLanes);

// Groups of lanes go side by side: a round waits longer for its products than it computes. Few for what is left of a
// run, and as many as the registers hold for the rest.
constexpr size_t kFewMaskGroups = 2;
#ifdef __AVX512F__
constexpr size_t kManyMaskGroups = 4;
#else
constexpr size_t kManyMaskGroups = 2;
#endif
template <size_t kGroups>
using MaskWords = std::array<std::array<MaskWord, 4>, kGroups>;
template <size_t kGroups>
constexpr int64_t kMaskElements = int64_t{4} * kMaskLanes* static_cast<int64_t>(kGroups);

template <size_t... kLane>
constexpr MaskWord lane_numbers(std::index_sequence<kLane...> /*lanes*/) {
  return MaskWord{kLane...};
}

// random_block(sequence, first_block + lane) for every lane of each group.
template <size_t kGroups>
MaskWords<kGroups> random_blocks(const RandomSequence& sequence, uint64_t first_block) {
  MaskWords<kGroups> words;
  for (auto& c : words) {
    const MaskWord block = lane_numbers(std::make_index_sequence<kMaskLanes>()) + first_block;
    c = {block, block >> 32 << 16 | sequence.site, MaskWord{} + sequence.step, MaskWord{} + (sequence.step >> 32)};
    first_block += kMaskLanes;
  }
  MaskWord k0 = MaskWord{} + sequence.seed;
  MaskWord k1 = MaskWord{} + (sequence.seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 4
    for (auto& c : words) {
      const MaskWord p0 = product_of_low_halves(c[0], MaskWord{} + kPhiloxMultiplier0);
      const MaskWord p1 = product_of_low_halves(c[2], MaskWord{} + kPhiloxMultiplier1);
      c = {doubled_high_halves(p1) ^ c[1] ^ k0, p1, doubled_high_halves(p0) ^ c[3] ^ k1, p0};
    }
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  return words;
}

// Lanes of a in the low halves, of b in the high ones.
inline MaskWord joined_halves(MaskWord a, MaskWord b) { return (a & 0xFFFFFFFFU) | b << 32; }

// The multipliers of the elements of blocks first_block, first_block + 1, ...
template <size_t kGroups>
void mask_chunk(const RandomSequence& sequence, uint64_t first_block, uint32_t threshold, float scale, float* m) {
  for (const auto& c : random_blocks<kGroups>(sequence, first_block)) {
    const MaskWord front = joined_halves(c[0], c[1]);
    const MaskWord back = joined_halves(c[2], c[3]);
    for (const MaskWord blocks : {interleaved<0>(front, back), interleaved<1>(front, back)}) {
      store_vector(m, reinterpret_cast<Words>(blocks) >= threshold ? Vector{} + scale : Vector{});
      m += kLanes;
    }
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
  constexpr int64_t kMany = kMaskElements<kManyMaskGroups>;
  constexpr int64_t kFew = kMaskElements<kFewMaskGroups>;
  std::array<float, kFew> partial;
  while (count > 0) {
    const uint64_t skip = element % 4;
    int64_t taken = kMany;
    if (skip == 0 && count >= kMany) {
      mask_chunk<kManyMaskGroups>(dropout.random, element / 4, threshold, scale, m);
    } else if (skip == 0 && count >= kFew) {
      taken = kFew;
      mask_chunk<kFewMaskGroups>(dropout.random, element / 4, threshold, scale, m);
    } else {
      taken = std::min<int64_t>(count, kFew - static_cast<int64_t>(skip));
      mask_chunk<kFewMaskGroups>(dropout.random, element / 4, threshold, scale, partial.data());
      std::copy_n(partial.data() + skip, taken, m);
    }
    element += static_cast<uint64_t>(taken);
    m += taken;
    count -= taken;
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
