// One register of floats, and the few moves of it that loops over tiles are made of.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

#ifdef __AVX512F__
constexpr int64_t kLanes = 16;
#else
constexpr int64_t kLanes = 8;
#endif

using Vector __attribute__((vector_size(kLanes * sizeof(float)))) = float;
using VectorAnywhere __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias)) = float;
using Words __attribute__((vector_size(kLanes * sizeof(uint32_t)))) = uint32_t;
constexpr auto kLaneNumbers = std::make_index_sequence<kLanes>();

inline Vector load_vector(const float* from) { return *reinterpret_cast<const VectorAnywhere*>(from); }
inline void store_vector(float* to, Vector value) { *reinterpret_cast<VectorAnywhere*>(to) = value; }

// Rows and columns of a tile are padded to whole vectors.
constexpr int64_t padded(int64_t extent) { return (extent + kLanes - 1) / kLanes * kLanes; }

// `count` floats in whole vectors.
inline void copy_vectors(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; i += kLanes) store_vector(to + i, load_vector(from + i));
}
inline void clear_vectors(float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) store_vector(to + i, Vector{});
}

// Interleaves the lower (kHalf = 0) or upper (kHalf = 1) halves of two vectors.
template <int kHalf, typename V, size_t... kLane>
V interleaved(V a, V b, std::index_sequence<kLane...> /*lanes*/) {
  constexpr size_t kCount = sizeof...(kLane);
  return __builtin_shufflevector(a, b, (kLane % 2 * kCount + kHalf * kCount / 2 + kLane / 2)...);
}

// A square of kLanes x kLanes. Interleaving row i with row i + kLanes/2, as one shuffles two halves of a deck of cards,
// moves every element one bit of its row number into its column number: after log2(kLanes) times they are exchanged.
inline void transpose_square(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Vector rows[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) rows[i] = load_vector(from + i * from_stride);
#pragma GCC unroll 4
  for (int64_t done = 1; done < kLanes; done *= 2) {
    Vector shuffled[kLanes];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kLanes / 2; ++i) {
      shuffled[2 * i] = interleaved<0>(rows[i], rows[i + kLanes / 2], kLaneNumbers);
      shuffled[2 * i + 1] = interleaved<1>(rows[i], rows[i + kLanes / 2], kLaneNumbers);
    }
#pragma GCC unroll 16
    for (int64_t i = 0; i < kLanes; ++i) rows[i] = shuffled[i];
  }
  for (int64_t i = 0; i < kLanes; ++i) store_vector(to + i * to_stride, rows[i]);
}

// A register of 64-bit numbers.
constexpr int64_t kWideLanes = kLanes / 2;
using WideVector __attribute__((vector_size(kWideLanes * sizeof(uint64_t)))) = uint64_t;

template <int kHalf>
WideVector interleaved(WideVector a, WideVector b) {
  return interleaved<kHalf>(a, b, std::make_index_sequence<kWideLanes>());
}

// Of the low 32 bits of each lane, in one instruction that compilers do not find by themselves.
inline WideVector product_of_low_halves(WideVector a, WideVector b) {
#ifdef __AVX512F__
  return reinterpret_cast<WideVector>(
      _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#else
  return reinterpret_cast<WideVector>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#endif
}

inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

template <size_t kStep, size_t... kLane>
Vector exchanged(Vector v, std::index_sequence<kLane...> /*lanes*/) {
  return __builtin_shufflevector(v, v, (kLane ^ kStep)...);
}

// Of all lanes; each step halves how many candidates are left.
template <size_t kStep = kLanes / 2>
float largest_lane(Vector v) {
  if constexpr (kStep == 0) {
    return v[0];
  } else {
    return largest_lane<kStep / 2>(larger(v, exchanged<kStep>(v, kLaneNumbers)));
  }
}

template <size_t kStep = kLanes / 2>
float sum_of_lanes(Vector v) {
  if constexpr (kStep == 0) {
    return v[0];
  } else {
    return sum_of_lanes<kStep / 2>(v + exchanged<kStep>(v, kLaneNumbers));
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
