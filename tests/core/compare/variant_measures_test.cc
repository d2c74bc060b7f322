// Means over the seeds that did not diverge, and differences from the first variant.
#include "core/compare/variant_measures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace segue {
namespace {

using testing::ElementsAre;
using testing::Optional;

// Ten tokens of two bytes in each region, which all lose as much.
LossMean losing(double nats) {
  LossMean losses;
  for (int64_t region = 0; region < LossMean::kRegions; ++region)
    for (int token = 0; token < 10; ++token) losses.add(region, nats, 2);
  return losses;
}

TEST(VariantMeasuresTest, MeansLeaveOutSeedsThatDiverged) {
  const LossesOfSeeds way{losing(1.0), std::nullopt, losing(3.0)};
  const VariantMeasure measure = measure_of(way);
  EXPECT_THAT(measure.of_seeds, ElementsAre(Optional(1.0), std::nullopt, Optional(3.0)));
  EXPECT_DOUBLE_EQ(measure.mean(), 2.0);
  EXPECT_FALSE(measure.difference.has_value());
  const VariantMeasure per_byte = measure_of(way, LossPer::kByte);
  EXPECT_THAT(per_byte.of_seeds, ElementsAre(Optional(0.5), std::nullopt, Optional(1.5)));
  EXPECT_DOUBLE_EQ(per_byte.mean(), 1.0);
}

TEST(VariantMeasuresTest, DifferencesAreFromTheFirstVariant) {
  const MeasuredWays ways{.losses = {{losing(1.0), losing(2.0)}, {losing(2.0), losing(3.0)}, {{}, {}}}};
  std::vector<VariantPoint> points(2);
  for (size_t v = 0; v < points.size(); ++v) {
    points[v].loss = measure_of(ways.losses[v]);
    points[v].loss_per_byte = measure_of(ways.losses[v], LossPer::kByte);
  }
  points[0].loss.difference.emplace();  // of other lengths
  add_differences({&points[0], &points[1], nullptr}, ways);
  EXPECT_FALSE(points[0].loss.difference.has_value());
  EXPECT_DOUBLE_EQ(points[1].loss.difference.value().mean, 1.0);
  EXPECT_EQ(points[1].loss.difference.value().seeds, 2);
  EXPECT_DOUBLE_EQ(points[1].loss_per_byte.value().difference.value().mean, 0.5);
  EXPECT_EQ(points[1].find(MeasureKind::kLoss), &*points[1].loss_per_byte);
  EXPECT_EQ(points[1].find(MeasureKind::kAccuracy), nullptr);
}

TEST(VariantMeasuresTest, WithoutSeedsOfBothThereIsNoDifference) {
  const MeasuredWays ways{.losses = {{losing(1.0), std::nullopt}, {std::nullopt, losing(3.0)}}};
  std::vector<VariantPoint> points(2);
  for (size_t v = 0; v < points.size(); ++v) points[v].loss = measure_of(ways.losses[v]);
  add_differences({&points[0], &points[1]}, ways);
  EXPECT_FALSE(points[1].loss.difference.has_value());
}

}  // namespace
}  // namespace segue
