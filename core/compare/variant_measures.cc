#include "core/compare/variant_measures.h"

#include <algorithm>

namespace segue {

const VariantMeasure* VariantPoint::find(MeasureKind kind) const {
  if (kind == MeasureKind::kLoss) return loss_per_byte ? &*loss_per_byte : &loss;
  return accuracy ? &*accuracy : nullptr;
}

VariantMeasure measure_of(const LossesOfSeeds& way, LossPer per) {
  VariantMeasure measure{.per = per};
  std::vector<LossMean> known;
  for (const std::optional<LossMean>& of_seed : way) {
    measure.of_seeds.push_back(of_seed ? std::optional(of_seed->mean(per)) : std::nullopt);
    if (of_seed) known.push_back(*of_seed);
  }
  measure.values = LossMean::average(known);
  return measure;
}

void add_differences(const std::vector<VariantPoint*>& points, const MeasuredWays& ways) {
  const auto add = [&](const std::vector<LossesOfSeeds>& of_measure, auto measure_at, LossPer per = LossPer::kToken) {
    if (of_measure.empty()) return;
    const std::vector<SeedDifference> differences = differences_over_seeds(of_measure, per);
    for (size_t v = 0; v < points.size(); ++v) {
      if (points[v] == nullptr) continue;
      std::optional<SeedDifference>& difference = measure_at(*points[v]).difference;
      difference.reset();
      if (v > 0 && differences[v - 1].seeds > 0) difference = differences[v - 1];
    }
  };
  add(ways.losses, [](VariantPoint& point) -> VariantMeasure& { return point.loss; });
  add(ways.answers, [](VariantPoint& point) -> VariantMeasure& { return *point.accuracy; });
  const auto is_per_byte = [](const VariantPoint* point) { return point == nullptr || point->loss_per_byte; };
  if (std::ranges::all_of(points, is_per_byte))
    add(
        ways.losses, [](VariantPoint& point) -> VariantMeasure& { return *point.loss_per_byte; }, LossPer::kByte);
}

}  // namespace segue
