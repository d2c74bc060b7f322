// Which of the rates that were tried is the best one.
#include "core/compare/swept_rates.h"

#include <gtest/gtest.h>

namespace segue {
namespace {

TEST(SweptRatesTest, TheLowestLossIsChosen) {
  SweptRate rate{.tried = {{.learning_rate = 0.001, .loss = 1.5},
                           {.learning_rate = 0.01, .loss = 1.25},
                           {.learning_rate = 0.1}}};  // diverged
  choose_best(rate);
  EXPECT_EQ(rate.chosen_by, MeasureKind::kLoss);
  EXPECT_EQ(rate.learning_rate(), 0.01);
  EXPECT_FALSE(rate.is_at_end());
}

TEST(SweptRatesTest, MoreRightAnswersComeBeforeTheLoss) {
  SweptRate rate{.tried = {{.learning_rate = 0.001, .loss = 1.0, .accuracy = 0.5},
                           {.learning_rate = 0.01, .loss = 2.0, .accuracy = 0.75},
                           {.learning_rate = 0.1, .loss = 1.5, .accuracy = 0.75},
                           {.learning_rate = 1.0}}};  // diverged
  choose_best(rate);
  EXPECT_EQ(rate.chosen_by, MeasureKind::kAccuracy);
  EXPECT_EQ(rate.learning_rate(), 0.1);  // of two with as many, the lower loss
}

TEST(SweptRatesTest, WithAnswersOfSomeRatesAloneLossesDecide) {
  SweptRate rate{
      .tried = {{.learning_rate = 0.001, .loss = 1.0}, {.learning_rate = 0.01, .loss = 2.0, .accuracy = 0.75}}};
  choose_best(rate);
  EXPECT_EQ(rate.chosen_by, MeasureKind::kLoss);
  EXPECT_EQ(rate.learning_rate(), 0.001);
}

TEST(SweptRatesTest, WhereAllDivergedTheLowestRateIsTaken) {
  SweptRate rate{.tried = {{.learning_rate = 0.001}, {.learning_rate = 0.01}}};
  choose_best(rate);
  EXPECT_EQ(rate.chosen_by, MeasureKind::kLoss);
  EXPECT_EQ(rate.learning_rate(), 0.001);
  EXPECT_FALSE(rate.tells_ends());
}

}  // namespace
}  // namespace segue
