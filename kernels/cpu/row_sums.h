// Sums over a row, in an order that is the same at every level of the processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/activation.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

constexpr int64_t kPartialSums = 32;  // side by side: enough to hide how long an addition takes

// The terms of a sum read with one of these: element i of a row, or a register of elements from i on.
struct ReadOne {
  int64_t i;
  template <typename A>
  float operator()(const A* row) const {
    return load(row + i);
  }
};
struct ReadVector {
  int64_t i;
  template <typename A>
  Vector operator()(const A* row) const {
    return load_vector(row + i);
  }
};

// kSums sums at once over i in [0, count). terms(read, add) calls add(n, term) for each sum n, where read(row) is
// row[i]: it is called with registers and with single elements.
template <size_t kSums, typename Terms>
std::array<float, kSums> sums_over(int64_t count, const Terms& terms) {
  constexpr int64_t kVectors = kPartialSums / kLanes;
  Vector partial[kSums][kVectors] = {};
  int64_t i = 0;
  for (; i + kPartialSums <= count; i += kPartialSums) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v)
      terms(ReadVector{i + v * kLanes}, [&](size_t n, Vector term) { partial[n][v] += term; });
  }
  std::array<float, kSums> totals{};
  for (; i < count; ++i) terms(ReadOne{i}, [&](size_t n, float term) { totals[n] += term; });
#pragma GCC unroll 2
  for (size_t n = 0; n < kSums; ++n) {
#pragma GCC unroll 4
    for (int64_t half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
      for (int64_t v = 0; v < half; ++v) partial[n][v] += partial[n][v + half];
    }
    totals[n] += sum_of_lanes(partial[n][0]);
  }
  return totals;
}

using HalfVectorAnywhere __attribute__((vector_size(kLanes / 2 * sizeof(float)), aligned(alignof(float)), may_alias)) =
    float;

// In double, where the square of a float is exact.
inline double sum_of_squares(const float* values, int64_t count) {
  constexpr int64_t kWidth = kLanes / 2;
  constexpr int64_t kVectors = kPartialSums / kWidth;
  Doubles sums[kVectors] = {};
  int64_t i = 0;
  for (; i + kPartialSums <= count; i += kPartialSums) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kVectors; ++v) {
      const auto terms = *reinterpret_cast<const HalfVectorAnywhere*>(values + i + v * kWidth);
      const Doubles wide = widened(terms);
      sums[v] += wide * wide;
    }
  }
  double rest = 0.0;
  for (; i < count; ++i) rest += static_cast<double>(values[i]) * static_cast<double>(values[i]);
#pragma GCC unroll 4
  for (int64_t half = kVectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < half; ++v) sums[v] += sums[v + half];
  }
  for (int64_t half = kWidth / 2; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane) sums[0][lane] += sums[0][lane + half];
  return sums[0][0] + rest;
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
