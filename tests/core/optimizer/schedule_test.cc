// The learning rate at points computed by hand, for every kind and rule.
#include "core/optimizer/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace segue {
namespace {

constexpr double kLr = 0.4;
constexpr int64_t kWarmup = 10;
constexpr int64_t kMaxStep = 50;

struct Point {
  int64_t update;  // counted from 1
  double rate;
};

void expect_points(const ScheduleConfig& schedule, const std::vector<Point>& points) {
  for (const Point& point : points)
    EXPECT_NEAR(learning_rate(schedule, kLr, kMaxStep, point.update), point.rate, 1e-15) << "update " << point.update;
}

// The first update at the full rate, then lr * s / warmup; the cosine runs over all of max_step, so that the rate jumps
// at the end of the warm-up: cos(pi * 10 / 50) = cos 36° = (1 + sqrt 5) / 4.
TEST(Schedule, CosineByThePytorchRule) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kCosine, .warmup_step = kWarmup, .eta_min = 0.1};
  const double cos36 = (1.0 + std::sqrt(5.0)) / 4.0;
  expect_points(schedule, {{1, 0.4},
                           {2, 0.04},
                           {6, 0.2},
                           {10, 0.36},
                           {11, 0.1 + 0.3 * (1.0 + cos36) / 2.0},
                           {26, 0.25},
                           {51, 0.1},
                           {80, 0.1}});
}

// Without a warm-up nothing is special about the first update.
TEST(Schedule, CosineWithoutWarmup) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kCosine};
  expect_points(schedule, {{1, 0.4}, {26, 0.2}, {51, 0.0}});
}

// The cosine begins where the warm-up ends: a quarter, half and three quarters of the 40 steps that are left.
TEST(Schedule, CosineByTheNvidiaRule) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kCosine, .warmup_step = kWarmup, .rule = ScheduleRule::kNvidia};
  const double quarter = 0.2 * (1.0 + std::sqrt(0.5));
  expect_points(schedule, {{1, 0.4}, {2, 0.04}, {11, 0.4}, {21, quarter}, {31, 0.2}, {41, 0.4 - quarter}, {51, 0.0}});
}

// The same, but the first update of a warm-up has the rate zero.
TEST(Schedule, CosineByTheTensorflowRule) {
  ScheduleConfig schedule{
      .kind = ScheduleKind::kCosine, .warmup_step = kWarmup, .eta_min = 0.2, .rule = ScheduleRule::kTensorflow};
  expect_points(schedule, {{1, 0.0}, {2, 0.04}, {11, 0.4}, {31, 0.3}, {51, 0.2}});
  schedule.warmup_step = 0;
  expect_points(schedule, {{1, 0.4}, {26, 0.3}, {51, 0.2}});
}

TEST(Schedule, Linear) {
  ScheduleConfig schedule{.kind = ScheduleKind::kLinear, .warmup_step = kWarmup, .eta_min = 0.1};
  expect_points(schedule, {{1, 0.4}, {6, 0.2}, {11, 0.34}, {26, 0.25}, {51, 0.1}, {60, 0.1}});
  schedule.rule = ScheduleRule::kNvidia;
  expect_points(schedule, {{1, 0.4}, {6, 0.2}, {11, 0.4}, {21, 0.325}, {51, 0.1}});
  schedule.rule = ScheduleRule::kTensorflow;
  expect_points(schedule, {{1, 0.0}, {6, 0.2}, {11, 0.4}, {21, 0.325}, {51, 0.1}});
}

TEST(Schedule, Constant) {
  ScheduleConfig schedule{.kind = ScheduleKind::kConstant, .warmup_step = kWarmup, .eta_min = 0.1};
  expect_points(schedule, {{1, 0.4}, {2, 0.04}, {10, 0.36}, {11, 0.4}, {51, 0.4}, {1000, 0.4}});
  schedule.rule = ScheduleRule::kTensorflow;
  expect_points(schedule, {{1, 0.0}, {2, 0.04}, {11, 0.4}});
}

// lr * s / warmup^1.5, then lr / sqrt(s): equal where they meet.
TEST(Schedule, InverseSquareRoot) {
  ScheduleConfig schedule{.kind = ScheduleKind::kInvSqrt, .warmup_step = 16};
  expect_points(schedule, {{1, 0.0}, {5, 0.4 * 4.0 / 64.0}, {17, 0.1}, {18, 0.4 / std::sqrt(17.0)}, {26, 0.08}});
  schedule.warmup_step = 0;
  expect_points(schedule, {{1, 0.4}, {2, 0.4}, {5, 0.2}, {26, 0.08}});
}

// The rates that a run of evaluations leads to, as torch's ReduceLROnPlateau gives them.
std::vector<double> rates(const ScheduleConfig& schedule, const std::vector<double>& losses) {
  PlateauState plateau;
  std::vector<double> found;
  for (const double loss : losses) {
    follow_loss(schedule, kLr, 20, loss, plateau);
    found.push_back(learning_rate(schedule, kLr, kMaxStep, 21, plateau));
  }
  return found;
}

TEST(Plateau, HalvesTheRateWhenTheLossDoesNotFall) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kPlateau};
  EXPECT_EQ(rates(schedule, {3.0, 2.0, 2.5, 1.9, 1.95, 1.95}), (std::vector{0.4, 0.4, 0.2, 0.2, 0.1, 0.05}));
}

// A loss that is lower by less than a share of 1e-4 is not lower, and not what the next one is compared to.
TEST(Plateau, LooksForAFallThatShows) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kPlateau};
  EXPECT_EQ(rates(schedule, {2.0, 1.9999, 1.9997, 1.99969}), (std::vector{0.4, 0.2, 0.2, 0.1}));
}

TEST(Plateau, WaitsAsLongAsItsPatience) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kPlateau, .decay_rate = 0.25, .patience = 2};
  EXPECT_EQ(rates(schedule, {2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0}), (std::vector{0.4, 0.4, 0.4, 0.1, 0.1, 0.1, 0.025}));
}

TEST(Plateau, EndsAtTheLowestRate) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kPlateau, .eta_min = 0.15};
  EXPECT_EQ(rates(schedule, {2.0, 2.0, 2.0, 2.0}), (std::vector{0.4, 0.2, 0.15, 0.15}));
}

TEST(Plateau, DoesNotTellTinyRatesApart) {
  PlateauState plateau{.rate = 1.5e-8, .best_loss = 1.0};
  follow_loss({.kind = ScheduleKind::kPlateau}, kLr, 20, 2.0, plateau);
  EXPECT_EQ(plateau.rate, 1.5e-8);
}

// Evaluations of the warm-up count, but lower nothing.
TEST(Plateau, BeginsBehindTheWarmup) {
  const ScheduleConfig schedule{.kind = ScheduleKind::kPlateau, .warmup_step = kWarmup};
  PlateauState plateau;
  for (const int64_t step : {3, 6, 9}) follow_loss(schedule, kLr, step, 2.0, plateau);
  EXPECT_EQ(learning_rate(schedule, kLr, kMaxStep, 6, plateau), 0.2);
  EXPECT_EQ(learning_rate(schedule, kLr, kMaxStep, 11, plateau), 0.4);
  follow_loss(schedule, kLr, 10, 2.0, plateau);
  EXPECT_EQ(learning_rate(schedule, kLr, kMaxStep, 11, plateau), 0.2);
  expect_points(schedule, {{1, 0.4}, {2, 0.04}, {11, 0.4}, {51, 0.4}});  // before any evaluation
}

// Of every kind, with a warm-up; a factor that is a power of two rounds nothing.
TEST(Schedule, AStageMultipliesIt) {
  Config config;
  config.optimizer.lr = kLr;
  config.training.max_step = kMaxStep;
  config.training.stages = {{.until_step = 5, .lr_factor = 4.0}, {.until_step = 20, .lr_factor = 0.5}};
  const PlateauState plateau{.rate = 0.125};
  for (const ScheduleKind kind : {ScheduleKind::kCosine, ScheduleKind::kLinear, ScheduleKind::kInvSqrt,
                                  ScheduleKind::kConstant, ScheduleKind::kPlateau}) {
    config.schedule = {.kind = kind, .warmup_step = kWarmup};
    const auto expected = [&](int64_t update, double factor) {
      return factor * learning_rate(config.schedule, kLr, kMaxStep, update, plateau);
    };
    for (const int64_t update : {1, 2, 5}) EXPECT_EQ(learning_rate(config, update, plateau), expected(update, 4.0));
    for (const int64_t update : {6, 11, 20}) EXPECT_EQ(learning_rate(config, update, plateau), expected(update, 0.5));
    for (const int64_t update : {21, 50}) EXPECT_EQ(learning_rate(config, update, plateau), expected(update, 1.0));
  }
}

}  // namespace
}  // namespace segue
