// Activations in either precision, float32 or bfloat16: arithmetic is in float32, only loads and stores differ.
#pragma once

#include <cstdint>

#include "base/bfloat16.h"
#include "kernels/cpu/vector.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// One element, in loops that the compiler makes vectors of.
inline float load(const float* from) { return *from; }
inline float load(const BFloat16* from) { return static_cast<float>(*from); }
inline void store(float* to, float value) { *to = value; }
inline void store(BFloat16* to, float value) { *to = BFloat16(value); }

using HalvesAnywhere __attribute__((vector_size(kLanes * sizeof(uint16_t)), aligned(alignof(uint16_t)), may_alias)) =
    uint16_t;

// One register.
inline Vector load_vector(const BFloat16* from) {
  const Halves halves = *reinterpret_cast<const HalvesAnywhere*>(from);
  return reinterpret_cast<Vector>(widened(halves) << 16);
}
inline void store_vector(BFloat16* to, Vector value) {
  const Words words = reinterpret_cast<Words>(value);
  const Words rounded = words + 0x7FFF + ((words >> 16) & 1);
  const Words result = (words & 0x7FFFFFFF) > 0x7F800000 ? words | 0x00400000 : rounded;  // as BFloat16 does
  *reinterpret_cast<HalvesAnywhere*>(to) = __builtin_convertvector(result >> 16, Halves);
}

// Rows of them.
template <typename A>
void store_row(A* to, const float* values, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) store(to + i, values[i]);
}
template <typename A>
void add_to(float* sums, const A* terms, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) sums[i] += load(terms + i);
}

// The elements, or null for a tensor that was left out.
template <typename A, typename View>
auto data_of(const View& view) {
  return view.empty() ? nullptr : view.template as<A>();
}

// call<A>(), A the type of such activations.
template <typename Call>
void with_activations(DType dtype, const Call& call) {
  dtype == DType::kBFloat16 ? call.template operator()<BFloat16>() : call.template operator()<float>();
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
