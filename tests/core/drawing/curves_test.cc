// Smoothing and thinning keep what a curve says.
#include "core/drawing/curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace segue::report {
namespace {

std::vector<Point> line(int64_t count) {
  std::vector<Point> points;
  for (int64_t i = 0; i < count; ++i)
    points.push_back({.x = static_cast<double>(i), .y = 3.0 * static_cast<double>(i)});
  return points;
}

TEST(CurvesTest, AMovingMeanLeavesStraightLinesAloneButForTheEnd) {
  const std::vector<Point> points = line(50);
  const std::vector<Point> means = moving_mean(points, 7);
  for (size_t i = 0; i + 7 < points.size(); ++i) EXPECT_NEAR(means[i].y, points[i].y, 1e-9);
  EXPECT_NEAR(means.back().y, 3.0 * (49.0 - 3.5), 1e-9);  // of the last eight
}

TEST(CurvesTest, AMovingMeanIsTheMeanOfNeighbours) {
  std::vector<Point> points = line(9);
  points[6].y = 36.0;
  EXPECT_DOUBLE_EQ(moving_mean(points, 1)[6].y, (15.0 + 36.0 + 21.0) / 3.0);
  EXPECT_DOUBLE_EQ(moving_mean(points, 1)[2].y, 6.0);  // at the beginning nothing is smoothed
  EXPECT_TRUE(moving_mean({}, 3).empty());
}

TEST(CurvesTest, ThinningKeepsTheEndAndTheLine) {
  for (const ScaleKind scale : {ScaleKind::kLinear, ScaleKind::kLog}) {
    const std::vector<Point> fewer = thinned(line(10000), 100, scale);
    EXPECT_LE(fewer.size(), 100U);
    EXPECT_GE(fewer.size(), 70U);
    for (size_t i = 0; i + 1 < fewer.size(); ++i) EXPECT_NEAR(fewer[i].y, 3.0 * fewer[i].x, 1e-6);
    EXPECT_EQ(fewer.back().x, 9999.0);
  }
  EXPECT_EQ(thinned(line(3), 100, ScaleKind::kLinear).size(), 3U);
}

TEST(CurvesTest, ThinningForALogarithmKeepsTheBeginning) {
  const std::vector<Point> fewer = thinned(line(10000), 100, ScaleKind::kLog);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(fewer[i].x, static_cast<double>(i));
}

TEST(CurvesTest, RowsAreChosenEvenly) {
  EXPECT_THAT(even_choice(3, 10), testing::ElementsAre(0U, 1U, 2U));
  EXPECT_THAT(even_choice(101, 3), testing::ElementsAre(0U, 50U, 100U));
  EXPECT_TRUE(even_choice(0, 3).empty());
  EXPECT_THAT(even_choice(5, 1), testing::ElementsAre(0U));
}

}  // namespace
}  // namespace segue::report
