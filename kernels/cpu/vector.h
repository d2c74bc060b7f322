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

// Two vectors' lanes in turn, within each 128 bits: one instruction.
template <size_t kHalf, size_t... kLane>
Vector interleaved_in_blocks(Vector a, Vector b, std::index_sequence<kLane...> /*lanes*/) {
  return __builtin_shufflevector(a, b, (kLane % 2 * kLanes + kLane / 4 * 4 + kHalf * 2 + kLane % 4 / 2)...);
}

// The lanes of a, or with kUpper of b, whose number has the bit kStep, or with kUpper lacks it, give way to those of
// the other one kStep away.
template <size_t kStep, bool kUpper, size_t... kLane>
Vector lanes_exchanged(Vector a, Vector b, std::index_sequence<kLane...> /*lanes*/) {
  return __builtin_shufflevector(a, b, ((kLane & kStep) / kStep * kLanes + (kLane & ~kStep) + kUpper * kStep)...);
}
template <size_t kStep>
void exchange_lanes(Vector& a, Vector& b) {
  const Vector lower = lanes_exchanged<kStep, false>(a, b, kLaneNumbers);
  b = lanes_exchanged<kStep, true>(a, b, kLaneNumbers);
  a = lower;
}

// A square of kLanes x kLanes. Blocks of 4 x 4, which fill 128 bits in width, are swapped first; then each is
// transposed by interleaving its rows in pairs and exchanging the halves of these.
inline void transpose_square(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  Vector rows[kLanes];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes; ++i) rows[i] = load_vector(from + i * from_stride);
#pragma GCC unroll 8
  for (int64_t i = 0; kLanes > 8 && i < kLanes / 2; ++i) exchange_lanes<kLanes / 2>(rows[i], rows[i + kLanes / 2]);
#pragma GCC unroll 8
  for (int64_t i = 0; i < kLanes / 2; ++i) exchange_lanes<4>(rows[i / 4 * 8 + i % 4], rows[i / 4 * 8 + i % 4 + 4]);
#pragma GCC unroll 4
  for (int64_t i = 0; i < kLanes; i += 4) {
    Vector first = interleaved_in_blocks<0>(rows[i], rows[i + 1], kLaneNumbers);
    Vector third = interleaved_in_blocks<1>(rows[i], rows[i + 1], kLaneNumbers);
    Vector second = interleaved_in_blocks<0>(rows[i + 2], rows[i + 3], kLaneNumbers);
    Vector fourth = interleaved_in_blocks<1>(rows[i + 2], rows[i + 3], kLaneNumbers);
    exchange_lanes<2>(first, second);
    exchange_lanes<2>(third, fourth);
    rows[i] = first;
    rows[i + 1] = second;
    rows[i + 2] = third;
    rows[i + 3] = fourth;
  }
#pragma GCC unroll 16
  for (int64_t i = 0; i < kLanes; ++i) store_vector(to + i * to_stride, rows[i]);
}

// A register of 64-bit numbers.
constexpr int64_t kWideLanes = kLanes / 2;
using WideVector __attribute__((vector_size(kWideLanes * sizeof(uint64_t)))) = uint64_t;

// Interleaves the lower (kHalf = 0) or upper (kHalf = 1) halves of two of them.
template <int kHalf, size_t... kLane>
WideVector interleaved(WideVector a, WideVector b, std::index_sequence<kLane...> /*lanes*/) {
  return __builtin_shufflevector(a, b, (kLane % 2 * kWideLanes + kHalf * kWideLanes / 2 + kLane / 2)...);
}
template <int kHalf>
WideVector interleaved(WideVector a, WideVector b) {
  return interleaved<kHalf>(a, b, std::make_index_sequence<kWideLanes>());
}

// Each of these is one instruction that compilers do not find by themselves: GCC 12 converts by halves.
using Halves __attribute__((vector_size(kLanes * sizeof(uint16_t)))) = uint16_t;
using HalfVector __attribute__((vector_size(kLanes / 2 * sizeof(float)))) = float;
using Doubles __attribute__((vector_size(kLanes / 2 * sizeof(double)))) = double;

inline Words widened(Halves halves) {
#ifdef __AVX512F__
  return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(halves)));
#else
  return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves)));
#endif
}
inline Doubles widened(HalfVector floats) {
#ifdef __AVX512F__
  return reinterpret_cast<Doubles>(_mm512_maskz_cvtps_pd(0xFF, reinterpret_cast<__m256>(floats)));
#else
  return reinterpret_cast<Doubles>(_mm256_cvtps_pd(reinterpret_cast<__m128>(floats)));
#endif
}

// Multiplies the low 32 bits of each lane.
inline WideVector product_of_low_halves(WideVector a, WideVector b) {
#ifdef __AVX512F__
  return reinterpret_cast<WideVector>(
      _mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#else
  return reinterpret_cast<WideVector>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#endif
}

// The high 32 bits of each lane in both its halves. A shuffle and no shift, since processors of Intel have a port for
// shuffles beside that of products and shifts.
template <size_t... kWord>
WideVector doubled_high_halves(WideVector v, std::index_sequence<kWord...> /*words*/) {
  const auto words = reinterpret_cast<Words>(v);
  return reinterpret_cast<WideVector>(Words(__builtin_shufflevector(words, words, (kWord | 1)...)));
}
inline WideVector doubled_high_halves(WideVector v) { return doubled_high_halves(v, kLaneNumbers); }

inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

template <size_t kStep, size_t... kLane>
Vector exchanged(Vector v, std::index_sequence<kLane...> /*lanes*/) {
  return __builtin_shufflevector(v, v, (kLane ^ kStep)...);
}

// The largest of all lanes; each step halves the number of candidates.
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
