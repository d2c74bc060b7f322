// Differences of made-up losses of several seeds: their intervals hold the truth, and many at once stay honest.
#include "core/evaluation/seed_differences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "core/evaluation/student_t.h"

namespace segue {
namespace {

using Ways = std::vector<LossesOfSeeds>;

// Standard deviations of what each way of training meets by itself: with a seed, in a region of the text, in both.
// Seeds of the first way, which the others are compared with, lie `of_first` times as far apart.
struct Spread {
  double of_seeds = 0.0, of_text = 0.0, of_both = 0.0, of_first = 1.0;
};

constexpr double kApart = 0.1;  // of the first two ways

// One token a region, whose hardness and whose seed's luck are the same for all ways.
Ways train(uint64_t trial, size_t ways, int64_t seeds, const Spread& spread, double apart = kApart) {
  const auto draw = [trial](size_t way, uint16_t kind, int64_t element) {
    const auto site = static_cast<uint16_t>(4 * way + kind);
    return random_normal({.seed = trial, .step = 0, .site = site}, static_cast<uint64_t>(element));
  };
  Ways trained(ways, LossesOfSeeds(static_cast<size_t>(seeds), LossMean()));
  for (size_t way = 0; way < ways; ++way) {
    for (int64_t s = 0; s < seeds; ++s) {
      for (int64_t region = 0; region < LossMean::kRegions; ++region) {
        const double common = 3.0 + draw(ways, 0, region) + 0.2 * draw(ways, 1, s) + (way == 1 ? apart : 0.0);
        const double of_seeds = spread.of_seeds * (way == 0 ? spread.of_first : 1.0);
        const double own = of_seeds * draw(way, 1, s) + spread.of_text * draw(way, 2, region) +
                           spread.of_both * draw(way, 3, s * LossMean::kRegions + region);
        trained[way][static_cast<size_t>(s)]->add(region, common + own);
      }
    }
  }
  return trained;
}

TEST(StudentT, IsThatOfTheTables) {
  EXPECT_NEAR(student_t_critical(0.05, 2), 4.3027, 1e-4);
  EXPECT_NEAR(student_t_critical(0.05, 9), 2.2622, 1e-4);
  EXPECT_NEAR(student_t_critical(0.05, 63), 1.9983, 1e-4);
  EXPECT_NEAR(student_t_critical(1e-12, 1), 2.0 / (M_PI * 1e-12), 1.0);  // Cauchy's
}

TEST(SeedDifferences, OfTwoWaysAreAsUncertainAsTheMeanOfTheSeeds) {
  Ways ways(2, LossesOfSeeds(3, LossMean()));
  for (size_t s = 0; s < 3; ++s) {
    for (int64_t region = 0; region < LossMean::kRegions; ++region) {
      ways[0][s]->add(region, 2.0);
      ways[1][s]->add(region, 2.0 + 0.1 * static_cast<double>(s + 1));
    }
  }
  const std::vector<SeedDifference> found = differences_over_seeds(ways);
  ASSERT_EQ(found.size(), 1);
  EXPECT_NEAR(found[0].mean, 0.2, 1e-12);
  EXPECT_NEAR(found[0].error_of_text.value_or(1.0), 0.0, 1e-12);
  EXPECT_NEAR(found[0].error_of_seeds.value_or(0.0), 0.1 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(found[0].confidence95.value_or(0.0), 4.3027 * 0.1 / std::sqrt(3.0), 1e-5);
}

// Of one seed the interval is that of the text, whichever unit it is in.
TEST(SeedDifferences, OfOneSeedHaveTheIntervalOfThePairedDifference) {
  Ways ways(2, LossesOfSeeds(1, LossMean()));
  for (int64_t region = 0; region < LossMean::kRegions; ++region) {
    const auto bytes = 1 + 7 * region % 29;
    ways[0][0]->add(region, 2.0 + 0.1 * static_cast<double>(region % 7), bytes);
    ways[1][0]->add(region, 2.0 + 0.1 * static_cast<double>(region % 5 + bytes), bytes);
  }
  const LossMean paired = ways[1][0]->above(*ways[0][0]).value();
  for (const LossPer per : {LossPer::kToken, LossPer::kByte}) {
    const std::vector<SeedDifference> found = differences_over_seeds(ways, per);
    EXPECT_NEAR(found[0].mean, paired.mean(per), 1e-12);
    EXPECT_NEAR(found[0].confidence95.value(), paired.confidence95(per).value(), 1e-9);
  }
  const double scaled = paired.confidence95().value() * LossMean::kRegions / static_cast<double>(paired.bytes());
  EXPECT_GT(std::abs(scaled / paired.confidence95(LossPer::kByte).value() - 1.0), 0.05);
}

// What a seed makes better or worse for all ways falls out, as what a text does.
TEST(SeedDifferences, WhatAllWaysShareFallsOut) {
  const std::vector<SeedDifference> found = differences_over_seeds(train(4, 3, 3, {}));
  EXPECT_NEAR(found[0].mean, kApart, 1e-12);
  EXPECT_NEAR(found[1].mean, 0.0, 1e-12);
  for (const SeedDifference& each : found) {
    EXPECT_NEAR(each.error_of_seeds.value_or(1.0), 0.0, 1e-12);
    EXPECT_NEAR(each.error_of_text.value_or(1.0), 0.0, 1e-12);
  }
}

TEST(SeedDifferences, OneSeedIsOfTheTextAlone) {
  const Ways ways = train(5, 2, 1, {.of_text = 0.3});
  const SeedDifference found = differences_over_seeds(ways).front();
  EXPECT_FALSE(found.error_of_seeds);
  EXPECT_EQ(found.confidence95, ways[1][0]->above(*ways[0][0])->confidence95());
}

// Of two ways what one has alone tells nothing of how they differ; a way that has no seed changes nothing of others.
TEST(SeedDifferences, WhereSomeDivergedTheyAreOfTheSeedsThatBothHave) {
  const Spread spread{0.05, 0.4, 0.2};
  Ways ways = train(6, 2, 3, spread);
  Ways shared = ways;
  ways[1][2].reset();
  for (LossesOfSeeds& way : shared) way.pop_back();
  const SeedDifference found = differences_over_seeds(ways).front();
  const SeedDifference expected = differences_over_seeds(shared).front();
  EXPECT_EQ(found.seeds, 2);
  EXPECT_NEAR(found.mean, expected.mean, 1e-12);
  EXPECT_NEAR(found.error_of_seeds.value_or(0.0), expected.error_of_seeds.value_or(1.0), 1e-9);
  EXPECT_NEAR(found.confidence95.value_or(0.0), expected.confidence95.value_or(1.0), 1e-9);
  ways.emplace_back(3);
  const std::vector<SeedDifference> beside = differences_over_seeds(ways);
  EXPECT_NEAR(beside[0].confidence95.value_or(0.0), found.confidence95.value_or(1.0), 1e-9);
  EXPECT_EQ(beside[0].p, beside[0].p_adjusted);
  EXPECT_EQ(beside[1].seeds, 0);
  EXPECT_FALSE(beside[1].confidence95 || beside[1].p || beside[1].is_significant());
}

// Where one seed of several is left, an interval would be of less than those beside it.
TEST(SeedDifferences, OfOneSeedThatIsLeftOfSeveralThereIsNoInterval) {
  Ways ways = train(7, 2, 2, {.of_text = 0.3});
  ways[1][0].reset();
  const SeedDifference found = differences_over_seeds(ways).front();
  EXPECT_EQ(found.seeds, 1);
  EXPECT_TRUE(found.error_of_text);
  EXPECT_FALSE(found.confidence95 || found.p || found.error_of_seeds || found.is_significant());
}

// By a way of training other than the two that are compared.
TEST(SeedDifferences, DoNotDependOnTheWaysBeside) {
  const Spread spread{0.05, 0.4, 0.2};
  Ways ways = train(8, 3, 3, spread);
  const SeedDifference beside = differences_over_seeds(ways).front();
  ways.pop_back();
  const SeedDifference alone = differences_over_seeds(ways).front();
  EXPECT_EQ(beside.confidence95, alone.confidence95);
  EXPECT_EQ(beside.p, alone.p);
}

// The p of a difference is that at which its interval reaches 0.
TEST(SeedDifferences, ProbabilitiesAgreeWithIntervals) {
  for (uint64_t trial = 1; trial <= 50; ++trial) {
    const Ways ways = train(trial, 2, 3, {0.05, 0.4, 0.2});
    const SeedDifference found = differences_over_seeds(ways).front();
    EXPECT_EQ(found.p.value_or(1.0) < 0.05, std::abs(found.mean) > found.confidence95.value_or(0.0)) << trial;
  }
  const Ways ways = train(1, 2, 1, {.of_text = 0.4});
  const SeedDifference found = differences_over_seeds(ways).front();
  const double freedom = ways[1][0]->above(*ways[0][0])->standard_error()->degrees_of_freedom;
  EXPECT_NEAR(student_t_critical(found.p.value_or(0.0), freedom) * found.error_of_text.value_or(0.0),
              std::abs(found.mean), 1e-9);
}

// How often the interval of the first difference holds the truth, over 500 comparisons; in half of them one of its
// seeds is missing, and one of the last way's.
double share_covered(size_t ways, int64_t seeds, const Spread& spread, bool diverges = false) {
  int covered = 0;
  for (uint64_t trial = 1; trial <= 500; ++trial) {
    Ways trained = train(trial, ways, seeds, spread);
    if (diverges && trial % 2 == 0) {
      trained[1].front().reset();
      trained.back().back().reset();
    }
    const SeedDifference found = differences_over_seeds(trained).front();
    covered += std::abs(found.mean - kApart) <= found.confidence95.value_or(0.0) ? 1 : 0;
  }
  return covered / 500.0;
}

TEST(SeedDifferences, CoverTheTruthWhateverItIsThatVaries) {
  constexpr double kError = 0.029;  // three standard errors of 500 draws
  for (const size_t ways : {2, 4}) {
    for (const int64_t seeds : {2, 3, 5}) {
      for (const Spread& spread : {Spread{.of_seeds = 0.05}, Spread{.of_text = 0.4}, Spread{.of_both = 0.4},
                                   Spread{0.05, 0.4, 0.2}, Spread{.of_seeds = 0.05, .of_first = 5.0}})
        EXPECT_GT(share_covered(ways, seeds, spread), 0.95 - kError)
            << ways << " ways, " << seeds << " seeds; " << spread.of_seeds << ", " << spread.of_text << ", "
            << spread.of_both;
    }
  }
}

TEST(SeedDifferences, CoverTheTruthWhereSomeDiverged) {
  for (const Spread& spread : {Spread{.of_seeds = 0.05}, Spread{.of_text = 0.4}, Spread{0.05, 0.4, 0.2}})
    EXPECT_GT(share_covered(4, 3, spread, true), 0.95 - 0.029) << spread.of_seeds << ", " << spread.of_text;
}

// An interval of the text alone is right about these two sets of weights, and wrong about others.
TEST(SeedDifferences, OneSeedDoesNotCoverOthers) {
  EXPECT_LT(share_covered(2, 1, {.of_seeds = 0.05, .of_text = 0.1}), 0.6);
}

SeedDifference with_p(double p) { return {.p = p}; }

TEST(SeedDifferences, ManyAreAdjustedTogether) {
  std::vector<SeedDifference> differences{with_p(0.01), with_p(0.04), with_p(0.03), {}, with_p(0.6)};
  adjust_by_holm(differences);
  EXPECT_NEAR(differences[0].p_adjusted.value_or(1.0), 0.04, 1e-12);
  EXPECT_NEAR(differences[1].p_adjusted.value_or(1.0), 0.09, 1e-12);
  EXPECT_NEAR(differences[2].p_adjusted.value_or(1.0), 0.09, 1e-12);
  EXPECT_FALSE(differences[3].p_adjusted);
  EXPECT_NEAR(differences[4].p_adjusted.value_or(0.0), 0.6, 1e-12);
  EXPECT_TRUE(differences[0].is_significant());
  EXPECT_FALSE(differences[1].is_significant());
  EXPECT_FALSE(differences[3].is_significant());
}

// Seven ways of training that differ from the first in nothing but perhaps how far its seeds lie apart: in 300
// comparisons one is significant in no more than 5 %, and three standard errors.
TEST(SeedDifferences, NothingIsSignificantThatDoesNotDiffer) {
  for (const Spread& spread : {Spread{.of_seeds = 0.05}, Spread{.of_text = 0.4}, Spread{0.0125, 0.1, 0.1},
                               Spread{.of_seeds = 0.01, .of_text = 0.1, .of_first = 5.0}}) {
    int wrong = 0, wrong_alone = 0;
    for (uint64_t trial = 1; trial <= 300; ++trial) {
      const std::vector<SeedDifference> found = differences_over_seeds(train(trial, 8, 3, spread, 0.0));
      wrong += std::ranges::any_of(found, &SeedDifference::is_significant) ? 1 : 0;
      wrong_alone += std::ranges::any_of(found, [](const auto& each) { return each.p.value_or(1.0) < 0.05; }) ? 1 : 0;
    }
    EXPECT_LE(wrong, 26) << spread.of_seeds << ", " << spread.of_text << ", " << spread.of_both;
    EXPECT_GT(wrong_alone, 20) << "each by itself";
  }
}

TEST(SeedDifferences, AMeanOverSeedsHasStudentsInterval) {
  const std::vector<double> three{1.0, 2.0, 3.0};
  EXPECT_NEAR(confidence95_over_seeds(three).value(), 4.302653 / std::sqrt(3.0), 1e-5);
  EXPECT_FALSE(confidence95_over_seeds(std::span(three).first(1)).has_value());
}

TEST(SeedDifferences, OtherSeedsOrTokensAreRefused) {
  Ways ways = train(1, 2, 2, {.of_text = 0.1});
  ways[1][1]->add(3, 1.0);
  EXPECT_THROW(differences_over_seeds(ways), ContractError);
  ways[1].pop_back();
  EXPECT_THROW(differences_over_seeds(ways), ContractError);
  EXPECT_THROW(differences_over_seeds(Ways(2)), ContractError);
  EXPECT_TRUE(differences_over_seeds(Ways()).empty());
}

}  // namespace
}  // namespace segue
