// The generator against its published vectors, and the distributions drawn from it.
#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace segue {

namespace {

using Words = std::array<uint32_t, 4>;

// The known answers published with Random123 (Salmon et al. 2011), philox4x32 with 10 rounds.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kAll = 0xffffffff;
  EXPECT_EQ(philox4x32({kAll, kAll, kAll, kAll}, {kAll, kAll}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomSequence, EveryPartOfTheAddressCounts) {
  const RandomSequence base{7, 8, 9};
  const std::set<Words> blocks{random_block(base, 0),
                               random_block(base, 1),
                               random_block(base, uint64_t{1} << 32),
                               random_block(base, uint64_t{1} << 47),
                               random_block({7, 8, 10}, 0),
                               random_block({7, 9, 9}, 0),
                               random_block({7, 8 + (uint64_t{1} << 32), 9}, 0),
                               random_block({8, 8, 9}, 0),
                               random_block({7 + (uint64_t{1} << 32), 8, 9}, 0)};
  EXPECT_EQ(blocks.size(), 9U);
}

TEST(RandomSequence, AnElementIsAWordOfItsBlock) {
  const RandomSequence sequence{1, 2, 3};
  for (uint64_t element = 0; element < 64; ++element)
    EXPECT_EQ(random_bits(sequence, element), random_block(sequence, element / 4)[element % 4]);
}

TEST(RandomSequence, NormalHasTheMomentsOfANormal) {
  constexpr int kCount = 1 << 18;
  std::array<double, 4> moments{};
  int beyond_two = 0;
  for (uint64_t e = 0; e < kCount; ++e) {
    const double x = random_normal({42, 0, 1}, e);
    double power = 1.0;
    for (double& moment : moments) moment += (power *= x) / kCount;
    beyond_two += std::abs(x) > 2.0;
  }
  // Five deviations of each estimate: the variances of x, x², x³, x⁴ are 1, 2, 15, 96.
  const double deviations = 5.0 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(moments[0], 0.0, deviations);
  EXPECT_NEAR(moments[1], 1.0, deviations * std::sqrt(2.0));
  EXPECT_NEAR(moments[2], 0.0, deviations * std::sqrt(15.0));
  EXPECT_NEAR(moments[3], 3.0, deviations * std::sqrt(96.0));
  EXPECT_NEAR(beyond_two / static_cast<double>(kCount), 0.0455, deviations * 0.21);
}

TEST(RandomSequence, UniformFillsItsRangeEvenly) {
  constexpr int kCount = 1 << 16;
  std::array<int, 16> bins{};
  for (uint64_t e = 0; e < kCount; ++e) {
    const double u = random_uniform({42, 0, 2}, e);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins.at(static_cast<size_t>(u * 16.0));
  }
  double chi_squared = 0.0;
  for (const int bin : bins) chi_squared += (bin - kCount / 16.0) * (bin - kCount / 16.0) / (kCount / 16.0);
  EXPECT_LT(chi_squared, 44.3);  // 15 degrees of freedom, 1 in 10,000
}

TEST(DropoutThreshold, SpansTheWordRange) {
  EXPECT_EQ(dropout_threshold(0.0F), 0U);
  EXPECT_EQ(dropout_threshold(0.5F), 0x80000000U);
  EXPECT_EQ(dropout_threshold(1.0F), 0xffffffffU);
  EXPECT_EQ(dropout_threshold(2.0F), 0xffffffffU);
}

}  // namespace

}  // namespace segue
