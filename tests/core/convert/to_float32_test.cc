// Conversions of weights: every half, boundary values of the others.
#include "core/convert/to_float32.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/message_of.h"

namespace segue {
namespace {

TEST(ToFloat32, HalvesOfKnownValue) {
  EXPECT_EQ(float_of_half(0x3c00), 1.0F);
  EXPECT_EQ(float_of_half(0xc000), -2.0F);
  EXPECT_EQ(float_of_half(0x7bff), 65504.0F);
  EXPECT_EQ(float_of_half(0x0400), 6.103515625e-05F);         // smallest normal
  EXPECT_EQ(float_of_half(0x0001), 5.9604644775390625e-08F);  // smallest subnormal
  EXPECT_EQ(float_of_half(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(float_of_half(0x7e00)));
  EXPECT_TRUE(std::signbit(float_of_half(0x8000)));
}

// From each half to the next one of its sign the magnitude grows.
TEST(ToFloat32, HalvesAreOrderedAndOddInTheSign) {
  for (uint16_t bits = 0; bits < 0x7c00; ++bits) {
    EXPECT_LT(float_of_half(bits), float_of_half(static_cast<uint16_t>(bits + 1))) << bits;
    EXPECT_EQ(float_of_half(static_cast<uint16_t>(bits | 0x8000)), -float_of_half(bits)) << bits;
  }
}

TEST(ToFloat32, BrainFloatsAreTheUpperHalfOfFloats) {
  const std::array<uint16_t, 3> bits{0x3f80, 0xc049, 0x7f80};
  const OwnedTensor converted =
      to_float32({reinterpret_cast<const std::byte*>(bits.data()), DType::kBFloat16, {3}}, "t");
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(converted.as<float>()[i]), uint32_t{bits[static_cast<size_t>(i)]} << 16);
  }
}

TEST(ToFloat32, FloatsAreCopiedBitwise) {
  const std::array<uint32_t, 3> bits{0x7fc12345, 0x80000000, 0x00000001};
  const OwnedTensor converted =
      to_float32({reinterpret_cast<const std::byte*>(bits.data()), DType::kFloat32, {3, 1}}, "t");
  EXPECT_EQ(converted.shape(), (Shape{3, 1}));
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(converted.as<float>()[i]), bits[static_cast<size_t>(i)]);
  }
}

TEST(ToFloat32, DoublesAreRoundedOrRefused) {
  const std::array<double, 2> fitting{0.1, -std::numeric_limits<double>::infinity()};
  const OwnedTensor converted = to_float32(view_of(fitting.data(), {2}), "t");
  EXPECT_EQ(converted.as<float>()[0], 0.1F);
  EXPECT_EQ(converted.as<float>()[1], -std::numeric_limits<float>::infinity());
  const double huge = 1e300;
  EXPECT_EQ(message_of<CheckpointError>([&] { to_float32(view_of(&huge, {1}), "t"); }),
            "t: expected values within float32, found 1e+300");
}

TEST(ToFloat32, IntegersAreRefused) {
  const int64_t one = 1;
  EXPECT_EQ(message_of<CheckpointError>([&] { to_float32(view_of(&one, {1}), "t"); }),
            "t: expected a floating-point type, found int64");
}

}  // namespace
}  // namespace segue
