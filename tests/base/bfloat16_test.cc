// Conversion to and from bfloat16, over all its values and at every kind of boundary.
#include "base/bfloat16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace segue {
namespace {

BFloat16 of_bits(uint32_t bits) { return std::bit_cast<BFloat16>(static_cast<uint16_t>(bits)); }

TEST(BFloat16, EveryValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto value = static_cast<float>(of_bits(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(value)))) << bits;
    } else {
      EXPECT_EQ(BFloat16(value).bits, bits);
    }
  }
}

// Halfway between neighbours the even one is taken, else the nearer; negative values alike.
TEST(BFloat16, RoundsToTheNearestEven) {
  for (uint32_t bits = 0; bits < 0x7F80U; ++bits) {
    const uint32_t word = bits << 16;
    for (const uint32_t sign : {0U, 0x80000000U}) {
      const auto rounded = [&](uint32_t part) { return BFloat16(std::bit_cast<float>(sign | word | part)).bits; };
      const uint32_t below = sign >> 16 | bits;
      EXPECT_EQ(rounded(0x7FFF), below);
      EXPECT_EQ(rounded(0x8000), below + (bits & 1U));
      EXPECT_EQ(rounded(0x8001), below + 1);
    }
  }
}

TEST(BFloat16, LargestNumbersBecomeInfinite) {
  EXPECT_EQ(static_cast<float>(BFloat16(std::numeric_limits<float>::max())), INFINITY);
  EXPECT_EQ(static_cast<float>(BFloat16(-std::numeric_limits<float>::max())), -INFINITY);
}

TEST(BFloat16, NanStaysNanWhereverItsBitsAre) {
  for (const uint32_t word : {0x7F800001U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU})
    EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(word))))) << word;
}

TEST(BFloat16, IsAnElementOfTensors) {
  constexpr BFloat16 kOne(1.0F);
  EXPECT_EQ(view_of(&kOne, {1}).dtype, DType::kBFloat16);
  EXPECT_EQ(view_of(&kOne, {1}).bytes(), 2);
}

}  // namespace
}  // namespace segue
