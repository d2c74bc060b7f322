// Means, their confidence, and which tokens belong to which position and context.
#include "core/evaluation/loss_statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "core/evaluation/student_t.h"

namespace segue {
namespace {

TEST(LossMeanTest, WeighsTokensAlike) {
  LossMean losses;
  losses.add(0, 1.0);
  losses.add(0, 3.0);
  losses.add(63, 8.0);
  EXPECT_EQ(losses.tokens(), 3);
  EXPECT_DOUBLE_EQ(losses.mean(), 4.0);
  EXPECT_EQ(losses.confidence95(), std::nullopt);  // two regions say nothing about the spread
}

// For regions of equal size the ratio estimator is the standard error of their means.
TEST(LossMeanTest, ConfidenceIsThatOfTheRegionsMeans) {
  LossMean losses;
  const std::array<double, 5> means{1.0, 2.0, 3.0, 4.0, 5.0};
  for (size_t region = 0; region < means.size(); ++region) {
    losses.add(static_cast<int64_t>(7 * region), means[region] - 0.5);
    losses.add(static_cast<int64_t>(7 * region), means[region] + 0.5);
  }
  EXPECT_NEAR(losses.confidence95().value_or(0.0), student_t_critical(0.05, 4) * std::sqrt(2.5 / 5.0), 1e-12);
}

// A text that grows harder, evenly from its first region to its last: the formula of docs/numerics.md, by hand.
TEST(LossMeanTest, ConfidenceIsThatOfTheSlowestCosines) {
  LossMean losses;
  for (int64_t region = 0; region < LossMean::kRegions; ++region) losses.add(region, static_cast<double>(region));
  const double k = 64.0;
  double squares = 0.0;
  for (int j = 1; j <= 8; ++j) {
    double along = 0.0;
    for (int r = 0; r < 64; ++r) along += (r - 31.5) * std::cos(std::numbers::pi * j * (r + 0.5) / k);
    squares += along * along;
  }
  const std::optional<StandardError> error = losses.standard_error();
  ASSERT_TRUE(error);
  EXPECT_NEAR(error->value, std::sqrt(2.0 / 8.0 * squares) / k, 1e-12);
  EXPECT_DOUBLE_EQ(error->degrees_of_freedom, 8.0);
}

// Five answers of which one way knows all and another none: that is no certainty.
TEST(LossMeanTest, AnswersAreNoSurerThanOneOfThem) {
  LossMean all = LossMean::of_answers(), none = LossMean::of_answers();
  for (int64_t region = 0; region < 5; ++region) {
    all.add(region, 1.0);
    none.add(region, 0.0);
  }
  const std::optional<LossMean> difference = all.above(none);
  ASSERT_TRUE(difference);
  const std::optional<StandardError> error = difference->standard_error();
  ASSERT_TRUE(error);
  EXPECT_DOUBLE_EQ(error->value, 0.2);
  EXPECT_DOUBLE_EQ(error->degrees_of_freedom, 4.0);
}

// Texts differ much, and by a tenth what two models make of them.
TEST(LossMeanTest, DifferencesAtTheSameTokensAreSureWhereLossesAreNot) {
  LossMean a, b;
  for (int64_t i = 0; i < 640; ++i) {
    const double text = random_normal({.seed = 6, .step = 0, .site = 1}, static_cast<uint64_t>(i / 10));
    const double noise = 0.01 * random_normal({.seed = 6, .step = 0, .site = 2}, static_cast<uint64_t>(i));
    a.add(i / 10, text + 0.1 + noise);
    b.add(i / 10, text);
  }
  const std::optional<LossMean> difference = a.above(b);
  ASSERT_TRUE(difference);
  EXPECT_NEAR(difference->mean(), 0.1, 0.003);
  EXPECT_LT(difference->confidence95().value_or(1.0), 0.002);
  EXPECT_GT(a.confidence95().value_or(0.0), 0.1);
  b.add(3, 1.0);
  EXPECT_EQ(a.above(b), std::nullopt);  // not the same tokens
}

// How often the interval holds the truth, over 400 texts of 64 regions, runs of whose tokens have the same loss.
double share_covered(int64_t run_tokens, int64_t tokens = 6400) {
  constexpr int kTexts = 400;
  int covered = 0;
  for (uint64_t text = 0; text < kTexts; ++text) {
    LossMean losses;
    for (int64_t i = 0; i < tokens; ++i)
      losses.add(i * LossMean::kRegions / tokens, random_normal({.seed = 5, .step = text, .site = 1}, i / run_tokens));
    covered += std::abs(losses.mean()) <= losses.confidence95().value_or(0.0) ? 1 : 0;
  }
  return covered / static_cast<double>(kTexts);
}

// Runs of 50: an error that took tokens for independent would be seven times too small.
TEST(LossMeanTest, CoversTheTruthNineteenTimesOfTwenty) {
  EXPECT_NEAR(share_covered(50), 0.95, 0.035);  // three standard errors of 400 draws
}

// Documents three regions long, each easy or hard as a whole. Regions taken for independent cover 7 times of 10, and
// those joined by twos where they seemed to correlate 0.92. Of many texts it is 0.946.
TEST(LossMeanTest, CoversTheTruthWhereDocumentsAreLongerThanRegions) { EXPECT_NEAR(share_covered(300), 0.95, 0.035); }

// Regions that hover about a threshold of correlation, above which they were joined: the interval grew by 44 %, where
// losses differed in the third place.
TEST(LossMeanTest, NearlyEqualLossesHaveNearlyEqualIntervals) {
  for (uint64_t text = 0; text < 400; ++text) {
    const auto normal = [text](uint16_t site, int64_t i) {
      return random_normal({.seed = 7, .step = text, .site = site}, static_cast<uint64_t>(i));
    };
    LossMean some, others;
    for (int64_t region = 0; region < LossMean::kRegions; ++region) {
      const double loss = normal(1, region) + 0.3 * normal(1, region + 1);
      some.add(region, loss);
      others.add(region, loss + 0.03 * normal(2, region));
    }
    EXPECT_NEAR(others.confidence95().value_or(0.0) / some.confidence95().value_or(1.0), 1.0, 0.08) << text;
  }
}

// With half as many tokens as regions, every other region is empty. Taken for neighbours, those hid that the others
// correlate, and the interval covered 6 times of 10.
TEST(LossMeanTest, LooksBeyondEmptyRegions) { EXPECT_GT(share_covered(4, 32), 0.88); }

TEST(ContextRuleTest, CountsMemoryThatIsThere) {
  const ContextRule rule{.tgt_len = 4, .mem_len = 6};
  EXPECT_EQ(rule.most(), 10);
  EXPECT_EQ(rule.of(0, 0), 1);
  EXPECT_EQ(rule.of(3, 4), 8);
  EXPECT_EQ(rule.of(3, 400), 10);
  EXPECT_EQ((ContextRule{.tgt_len = 4, .mem_len = 6, .windows = {6}}.of(3, 400)), 6);
  const ContextRule of_blocks{.tgt_len = 4, .mem_len = 6, .windows = {1, 2}};
  EXPECT_EQ(of_blocks.of(0, 400), 1);
  EXPECT_EQ(of_blocks.of(3, 400), 2);
  EXPECT_EQ(of_blocks.most(), 2);
}

TEST(LossStatisticsTest, SortsTokensByPositionAndContext) {
  LossStatistics statistics(100, {.tgt_len = 4, .mem_len = 4});
  const std::array<float, 2> first{1.0F, 2.0F};
  const std::array<float, 1> later{5.0F};
  statistics.add({.offset = 1, .position = 0, .before = 0, .nll = first});
  statistics.add({.offset = 14, .position = 1, .before = 12, .nll = later});
  EXPECT_EQ(statistics.total().tokens(), 3);
  EXPECT_DOUBLE_EQ(statistics.by_position()[0].mean(), 1.0);
  EXPECT_DOUBLE_EQ(statistics.by_position()[1].mean(), 3.5);
  ASSERT_EQ(statistics.by_context().size(), 8);
  EXPECT_EQ(statistics.by_context()[5].from, 6);
  EXPECT_DOUBLE_EQ(statistics.by_context()[5].losses.mean(), 5.0);
  EXPECT_EQ(statistics.by_context()[2].losses.tokens(), 0);
}

// Its tokens see to the end of the segment, or of the text in it, which losses do not tell.
TEST(LossStatistics, AreNotByContextOfAModelThatLooksAhead) {
  LossStatistics statistics(20, {.tgt_len = 4, .mem_len = 3, .is_untold = true});
  const std::vector<float> nll{1.0F, 2.0F};
  statistics.add({.offset = 1, .position = 1, .before = 0, .nll = nll});
  EXPECT_EQ(statistics.total().tokens(), 2);
  EXPECT_EQ(statistics.by_position()[2].tokens(), 1);
  EXPECT_TRUE(statistics.by_context().empty());
  EXPECT_EQ((ContextRule{.tgt_len = 4, .mem_len = 3, .is_untold = true}).most(), 7);
}

}  // namespace
}  // namespace segue
