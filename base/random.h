// Random numbers without a state: each is a pure function of (seed, step, site, element).
//
// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): ten rounds of multiply and xor
// turn a 128-bit counter into four independent 32-bit words. The counter holds the element block (48 bits), the site
// (16 bits) and the step (64 bits); the key is the seed. Same numbers on any number of ranks and on any device.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace segue {

struct RandomSequence {
  uint64_t seed = 0;
  uint64_t step = 0;  // of training or of what else counts; from 2^63 on, a parameter's, whose first values are drawn
  uint16_t site = 0;  // which use inside the step, such as a layer's dropout
};

constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53U;
constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57U;

constexpr int kPhiloxRounds = 10;

// One of them.
constexpr void philox_round(uint32_t& c0, uint32_t& c1, uint32_t& c2, uint32_t& c3, uint32_t k0, uint32_t k1) {
  const uint64_t p0 = uint64_t{kPhiloxMultiplier0} * c0;
  const uint64_t p1 = uint64_t{kPhiloxMultiplier1} * c2;
  c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
  c1 = static_cast<uint32_t>(p1);
  c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
  c3 = static_cast<uint32_t>(p0);
}

// The increments of the key's words from round to round.
constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9U;
constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85U;

// One Philox block: four words for the counter (c0..c3) under the key (k0, k1).
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    philox_round(c[0], c[1], c[2], c[3], k[0], k[1]);
    k[0] += kPhiloxWeyl0;
    k[1] += kPhiloxWeyl1;
  }
  return c;
}

// The counter of elements 4*block .. 4*block + 3. `block` < 2^48.
constexpr std::array<uint32_t, 4> random_counter(const RandomSequence& sequence, uint64_t block) {
  return {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32) << 16 | sequence.site,
          static_cast<uint32_t>(sequence.step), static_cast<uint32_t>(sequence.step >> 32)};
}

// And their four words.
constexpr std::array<uint32_t, 4> random_block(const RandomSequence& sequence, uint64_t block) {
  return philox4x32(random_counter(sequence, block),
                    {static_cast<uint32_t>(sequence.seed), static_cast<uint32_t>(sequence.seed >> 32)});
}

// 32 uniform bits for one element.
constexpr uint32_t random_bits(const RandomSequence& sequence, uint64_t element) {
  return random_block(sequence, element / 4)[element % 4];
}

// An element survives dropout when its bits are at or above this: probability 1 - p, to 2^-32.
inline uint32_t dropout_threshold(float p) {
  return static_cast<uint32_t>(std::llround(std::min(static_cast<double>(p), 1.0) * 4294967295.0));
}

// Standard normal by Box-Muller, one per element; uses two of the block's four words, so elements pair up freely.
inline double random_normal(const RandomSequence& sequence, uint64_t element) {
  const std::array<uint32_t, 4> words = random_block(sequence, element);
  const double u = (static_cast<double>(words[0]) + 1.0) / 4294967296.0;  // (0, 1]: log is finite
  const double v = static_cast<double>(words[1]) / 4294967296.0;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

// Uniform in [0, 1).
inline double random_uniform(const RandomSequence& sequence, uint64_t element) {
  return static_cast<double>(random_bits(sequence, element)) / 4294967296.0;
}

}  // namespace segue
