// Where values come to stand, and which of them are written on an axis.
#include "core/drawing/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/drawing/numbers.h"

namespace segue::report {
namespace {

using testing::ElementsAre;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> texts;
  for (const Tick& tick : ticks) texts.push_back(tick.label);
  return texts;
}

Scale linear(double low, double high) { return {ScaleKind::kLinear, {low, high}, {0.0, 100.0}}; }

TEST(ScaleTest, LinearTicksAreRound) {
  EXPECT_THAT(labels(round_ticks(linear(1.72, 2.11), 5)), ElementsAre("1.8", "1.9", "2.0", "2.1"));
  EXPECT_THAT(labels(round_ticks(linear(0.0, 1.0), 4)), ElementsAre("0.00", "0.25", "0.50", "0.75", "1.00"));
  EXPECT_THAT(labels(round_ticks(linear(-2.0, 2.0), 4)), ElementsAre("-2", "-1", "0", "1", "2"));
  EXPECT_THAT(labels(round_ticks(linear(0.0, 4.1e6), 4)), ElementsAre("0", "2 M", "4 M"));
}

TEST(ScaleTest, TicksOfTinyAndHugeRangesEnd) {
  for (const auto& [low, high] : {std::pair{1.0, 1.0 + 1e-7}, std::pair{-1e90, 1e90}, std::pair{1e-90, 3e-90}}) {
    const std::vector<Tick> ticks = round_ticks(linear(low, high), 5);
    EXPECT_GE(ticks.size(), 2U);
    EXPECT_LE(ticks.size(), 12U);
  }
}

TEST(ScaleTest, LogarithmicTicksFitTheirRoom) {
  const Scale few(ScaleKind::kLog, {3e4, 4e6}, {0.0, 100.0});
  EXPECT_THAT(labels(round_ticks(few, 4)), ElementsAre("50 k", "100 k", "200 k", "500 k", "1 M", "2 M"));
  const Scale many(ScaleKind::kLog, {1.0, 1e12}, {0.0, 100.0});
  EXPECT_LE(round_ticks(many, 4).size(), 8U);
}

TEST(ScaleTest, ALogarithmFromZeroPutsZeroOneOctaveLeft) {
  const Scale scale(ScaleKind::kLogFromZero, {0.0, 128.0}, {0.0, 300.0}, 32.0);
  EXPECT_DOUBLE_EQ(scale(0.0), 0.0);
  EXPECT_DOUBLE_EQ(scale(32.0), 100.0);
  EXPECT_DOUBLE_EQ(scale(64.0), 200.0);
  EXPECT_DOUBLE_EQ(scale(128.0), 300.0);
  EXPECT_THAT(labels(round_ticks(scale, 5)), ElementsAre("0", "32", "64", "128"));
}

TEST(ScaleTest, GivenTicksOutsideTheAxisAreLeftOut) {
  EXPECT_THAT(labels(given_ticks(linear(0.0, 2000.0), std::array{-1.0, 0.0, 1024.0, 4096.0})),
              ElementsAre("0", "1,024"));
}

TEST(ScaleTest, RangesOfNothingOneValueAndConstantsHaveASize) {
  EXPECT_GT(range_of({}, ScaleKind::kLinear).size(), 0.0);
  for (const ScaleKind kind : {ScaleKind::kLinear, ScaleKind::kLog, ScaleKind::kLogFromZero}) {
    for (const double value : {0.0, 3.0, 1e-300, 1e99}) {
      const Range range = range_of(std::array{value, value}, kind);
      EXPECT_GT(range.size(), 0.0) << value;
      EXPECT_TRUE(std::isfinite(Scale(kind, range, {0.0, 10.0})(value))) << value;
    }
  }
}

TEST(ScaleTest, WhatIsNotFiniteStretchesNoRange) {
  const Range range = range_of(std::array{kNotANumber, 1.0, kInfinite, 2.0, -kInfinite}, ScaleKind::kLinear);
  EXPECT_EQ(range.low, 1.0);
  EXPECT_EQ(range.high, 2.0);
  EXPECT_EQ(range_of(std::array{-3.0, 0.0, 4.0, 8.0}, ScaleKind::kLog).low, 4.0);
  EXPECT_TRUE(std::isfinite(linear(0.0, 1.0)(kNotANumber)));
}

TEST(NumbersTest, ReadAsPeopleWriteThem) {
  EXPECT_EQ(fixed(1234567.891, 2), "1,234,567.89");
  EXPECT_EQ(fixed(-0.001, 2), "0.00");
  EXPECT_EQ(significant(1.921357, 5), "1.9214");
  EXPECT_EQ(significant(12345.6, 4), "12,346");
  EXPECT_EQ(significant(0.00001, 2), "1e-05");
  EXPECT_EQ(with_prefix(999.6), "1 k");
  EXPECT_EQ(with_prefix(4054400.0), "4.05 M");
  EXPECT_EQ(length_text(1024.0), "1,024");
  EXPECT_EQ(length_text(77.5), "77.5");
}

}  // namespace
}  // namespace segue::report
