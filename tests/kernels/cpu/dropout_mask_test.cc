// The vectorised mask is the mask of base/random.h, element for element.
#include "kernels/cpu/dropout_mask.h"

#include <gtest/gtest.h>

#include <vector>

namespace segue::kernels {

namespace {

TEST(DropoutMask, EqualsRandomBitsAtEveryAlignmentAndLength) {
  const Dropout dropout{0.3F, {0x123456789ABCDEFULL, 77ULL << 32 | 5, 9}, 1000003};
  for (const uint64_t first : {0ULL, 1ULL, 2ULL, 3ULL, 61ULL, (1ULL << 36) - 7}) {
    for (const int64_t count : {0, 1, 3, 31, 32, 33, 64, 65, 127, 257, 1021}) {
      std::vector<float> m(static_cast<size_t>(count));
      cpu::dropout_multipliers(dropout, first, count, m.data());
      for (int64_t e = 0; e < count; ++e) {
        const uint64_t element = dropout.first_element + first + static_cast<uint64_t>(e);
        const bool kept = random_bits(dropout.random, element) >= dropout_threshold(dropout.p);
        ASSERT_EQ(m[static_cast<size_t>(e)], kept ? static_cast<float>(1.0 / (1.0 - double{0.3F})) : 0.0F)
            << "first " << first << " element " << e;
      }
    }
  }
}

TEST(DropoutMask, CarriesIntoTheUpperCounterWord) {
  const Dropout dropout{0.5F, {1, 2, 3}, (uint64_t{1} << 34) - 8};  // block index passes 2^32 after two blocks
  std::vector<float> m(64);
  cpu::dropout_multipliers(dropout, 0, 64, m.data());
  for (uint64_t e = 0; e < 64; ++e)
    ASSERT_EQ(m[e] != 0.0F, random_bits(dropout.random, dropout.first_element + e) >= dropout_threshold(0.5F)) << e;
}

TEST(DropoutMask, EndsOfTheRange) {
  std::vector<float> m(100, 5.0F);
  cpu::dropout_multipliers({0.0F, {1, 2, 3}, 0}, 0, 100, m.data());
  EXPECT_EQ(m, std::vector<float>(100, 1.0F));
  cpu::dropout_multipliers({1.0F, {1, 2, 3}, 0}, 0, 100, m.data());
  EXPECT_EQ(m, std::vector<float>(100, 0.0F));
}

TEST(DropoutMask, KeepsTheShareItPromises) {
  constexpr int64_t kCount = 1 << 20;
  std::vector<float> m(kCount);
  cpu::dropout_multipliers({0.1F, {11, 12, 13}, 0}, 0, kCount, m.data());
  double sum = 0.0;
  for (const float value : m) sum += value;
  // Each multiplier has mean 1 and deviation sqrt(p / (1 - p)) = 1/3; five deviations of the mean of 2^20.
  EXPECT_NEAR(sum / kCount, 1.0, 5.0 / 3.0 / 1024.0);
}

}  // namespace

}  // namespace segue::kernels
