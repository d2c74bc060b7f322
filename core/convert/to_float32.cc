// Element by element; imports are rare and small beside training.
#include "core/convert/to_float32.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace segue {

namespace {

float float_of_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

const uint16_t* bits_of(ConstTensorView view) { return reinterpret_cast<const uint16_t*>(view.data); }

float float_of_double(double value, const std::string& where) {
  const auto rounded = static_cast<float>(value);
  if (std::isinf(rounded) && std::isfinite(value)) {
    throw CheckpointError("{}: expected values within float32, found {}", where, value);
  }
  return rounded;
}

}  // namespace

float float_of_half(uint16_t bits) {
  constexpr int kMantissaBits = 10;
  constexpr int kSmallestExponent = -24;  // of the last mantissa bit, in subnormals
  const int mantissa = bits & 0x3ff;
  const int exponent = bits >> kMantissaBits & 0x1f;
  float magnitude = 0.0F;
  if (exponent == 0x1f) {
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), kSmallestExponent);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa | 1 << kMantissaBits), kSmallestExponent + exponent - 1);
  }
  return std::copysign(magnitude, (bits & 0x8000) == 0 ? 1.0F : -1.0F);
}

OwnedTensor to_float32(ConstTensorView source, const std::string& where) {
  OwnedTensor result(DType::kFloat32, source.shape);
  float* values = result.as<float>();
  const auto fill = [&](auto value_of) {
    for (int64_t i = 0; i < source.elements(); ++i) values[i] = value_of(i);
  };
  switch (source.dtype) {
    case DType::kFloat32:
      fill([from = source.as<float>()](int64_t i) { return from[i]; });
      return result;
    case DType::kFloat64:
      fill([&where, from = source.as<double>()](int64_t i) { return float_of_double(from[i], where); });
      return result;
    case DType::kFloat16:
      fill([from = bits_of(source)](int64_t i) { return float_of_half(from[i]); });
      return result;
    case DType::kBFloat16:
      fill([from = bits_of(source)](int64_t i) { return float_of_bfloat16(from[i]); });
      return result;
    default:
      throw CheckpointError("{}: expected a floating-point type, found {}", where, name_of(source.dtype));
  }
}

}  // namespace segue
