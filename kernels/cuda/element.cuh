// Elements of float32 or bfloat16 as the floats that kernels compute with: 16 bytes of them at a time, or one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "base/bfloat16.h"
#include "base/tensor.h"
#include "kernels/cuda/simt.cuh"

namespace segue::simt {

template <typename Element, int kWidth>
struct alignas(sizeof(Element) * kWidth < 16 ? sizeof(Element) * kWidth : 16) Packed {
  Element elements[kWidth];
};

__device__ __forceinline__ float as_float(float value) { return value; }
__device__ __forceinline__ float as_float(BFloat16 value) { return static_cast<float>(value); }

// The nearest number that the element can hold.
template <typename Element>
__device__ __forceinline__ float rounded(float value) {
  return static_cast<float>(static_cast<Element>(value));
}

template <int kWidth, typename Element>
__device__ __forceinline__ void load(const Element* from, float (&to)[kWidth]) {
  const auto packed = *reinterpret_cast<const Packed<Element, kWidth>*>(from);
  for (int i = 0; i < kWidth; ++i) to[i] = as_float(packed.elements[i]);
}

// Each rounded to the nearest that the element can hold; two of bfloat16 by one instruction.
template <typename Element, int kWidth>
__device__ __forceinline__ Packed<Element, kWidth> packed(const float (&from)[kWidth]) {
  if constexpr (std::is_same_v<Element, BFloat16> && kWidth % 2 == 0) {
    Packed<uint32_t, kWidth / 2> pairs;
    for (int i = 0; i < kWidth / 2; ++i) pairs.elements[i] = pack_bf16(from[2 * i], from[2 * i + 1]);
    return __builtin_bit_cast(Packed<Element, kWidth>, pairs);
  } else {
    Packed<Element, kWidth> to;
    for (int i = 0; i < kWidth; ++i) to.elements[i] = static_cast<Element>(from[i]);
    return to;
  }
}

template <int kWidth, typename Element>
__device__ __forceinline__ void store(Element* to, const float (&from)[kWidth]) {
  if constexpr (std::is_same_v<Element, BFloat16> && kWidth == 2) {
    *reinterpret_cast<uint32_t*>(to) = pack_bf16(from[0], from[1]);  // as a struct, nvcc may store the two apart
  } else {
    *reinterpret_cast<Packed<Element, kWidth>*>(to) = packed<Element>(from);
  }
}

// How a kernel walks over a tensor: its elements, and how many of them at a time.
template <typename ElementType, int kElements>
struct Access {
  using Element = ElementType;
  static constexpr int kWidth = kElements;
};

// Whether rows of `columns` elements can be walked over 16 bytes of `dtype` at a time in each of the tensors.
inline bool is_vectorisable(DType dtype, int64_t columns, std::initializer_list<ConstTensorView> tensors) {
  bool aligned = columns % (16 / bytes_of(dtype)) == 0;
  for (const ConstTensorView& tensor : tensors) aligned = aligned && reinterpret_cast<uintptr_t>(tensor.data) % 16 == 0;
  return aligned;
}

// call(a value of the element's type) for activations of this dtype.
template <typename Call>
void with_element(DType dtype, const Call& call) {
  if (dtype == DType::kBFloat16) {
    call(BFloat16());
  } else {
    call(float());
  }
}

template <typename Element, typename Call>
void with_width(bool vectorised, const Call& call) {
  if (vectorised) {
    call(Access<Element, 16 / sizeof(Element)>());
  } else {
    call(Access<Element, 1>());
  }
}

// call(Access<...>()) for activations of this dtype, which the tensors hold in rows of `columns`.
template <typename Call>
void with_access(DType dtype, int64_t columns, std::initializer_list<ConstTensorView> tensors, const Call& call) {
  const bool vectorised = is_vectorisable(dtype, columns, tensors);
  with_element(dtype, [&](auto element) { with_width<decltype(element)>(vectorised, call); });
}

// The data, or null for a tensor that was left out.
template <typename T, typename View>
auto data_of(const View& view) {
  return view.empty() ? nullptr : view.template as<T>();
}

constexpr int64_t divide_up(int64_t total, int64_t part) { return (total + part - 1) / part; }

}  // namespace segue::simt
