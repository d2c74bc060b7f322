// The upper half of a float32: its sign and exponent, and 7 bits of its fraction.
#pragma once

#include <bit>
#include <cstdint>

#include "base/tensor.h"

namespace segue {

// Bits only; arithmetic happens in float32. Usable on a GPU as everything here is constexpr.
struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;

  // To the nearest, of two equally near ones to the even; a value beyond the largest becomes infinite, NaN stays NaN.
  constexpr explicit BFloat16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    const bool is_nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
    const uint32_t rounded = is_nan ? word | 0x00400000U : word + 0x7FFFU + ((word >> 16) & 1U);
    bits = static_cast<uint16_t>(rounded >> 16);
  }

  constexpr explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};
static_assert(sizeof(BFloat16) == 2);

template <>
constexpr DType dtype_of<BFloat16>() {
  return DType::kBFloat16;
}

}  // namespace segue
