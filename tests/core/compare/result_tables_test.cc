// What is better of losses and of right answers.
#include "core/compare/result_tables.h"

#include <gtest/gtest.h>

namespace segue {
namespace {

SeedDifference significant(double mean) {
  return {.seeds = 3, .mean = mean, .confidence95 = 0.01, .error_of_text = 0.001, .p = 0.001, .p_adjusted = 0.001};
}

TEST(ResultTablesTest, MoreRightAnswersAndLowerLossesAreBetter) {
  const ComparisonResult result{.unit = "token"};
  const MeasureUnits loss = units_of(result, MeasureKind::kLoss);
  const MeasureUnits accuracy = units_of(result, MeasureKind::kAccuracy);
  EXPECT_EQ(verdict_of(significant(0.1), loss), "worse");
  EXPECT_EQ(verdict_of(significant(-0.1), loss), "better");
  EXPECT_EQ(verdict_of(significant(0.1), accuracy), "better");
  EXPECT_EQ(verdict_of(significant(-0.1), accuracy), "worse");
  SeedDifference chance = significant(0.1);
  chance.p_adjusted = 0.2;
  EXPECT_EQ(verdict_of(chance, accuracy), "not significant");
  EXPECT_EQ(accuracy.scale, 100.0);
}

}  // namespace
}  // namespace segue
