#include "core/compare/result_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "core/evaluation/loss_units.h"

namespace segue {

const VariantMeasure* PointSet::find(size_t variant, MeasureKind kind) const {
  return points[variant] == nullptr ? nullptr : points[variant]->find(kind);
}

MeasureUnits units_of(const ComparisonResult& result, MeasureKind kind) {
  if (kind == MeasureKind::kAccuracy)
    return {.name = "% right", .scale = 100.0, .decimals = 2, .is_higher_better = true};
  return {.name = result.bits_name(), .scale = bits_of(1.0), .decimals = 4};
}

std::vector<PointSet> point_sets(const ComparisonResult& result) {
  std::vector<PointSet> sets;
  const auto has_own = [](const ComparedVariant& variant) { return variant.as_trained.has_value(); };
  if (std::ranges::any_of(result.variants, has_own)) {
    PointSet& set = sets.emplace_back(PointSet{.name = kAsTrained, .title = "each as it was trained"});
    for (const ComparedVariant& variant : result.variants)
      set.points.push_back(variant.as_trained ? &*variant.as_trained : nullptr);
  }
  for (size_t point = 0; point < result.points(); ++point) {
    PointSet& set = sets.emplace_back(PointSet{.name = point == 0 ? "" : std::to_string(point)});
    for (const ComparedVariant& variant : result.variants)
      set.points.push_back(variant.points.empty() ? nullptr : &variant.points[point]);
  }
  return sets;
}

bool is_same_of_all(const PointSet& set, int64_t VariantPoint::*length) {
  std::optional<int64_t> first;
  return std::ranges::all_of(set.points, [&](const VariantPoint* point) {
    if (point != nullptr && !first) first = point->*length;
    return point == nullptr || point->*length == first;
  });
}

std::string title_of(const ComparisonResult& result, const PointSet& set, MeasureKind kind) {
  const bool is_accuracy = kind == MeasureKind::kAccuracy;
  std::string title = is_accuracy ? "Right answers in %" : "Loss in " + units_of(result, kind).name;
  if (!set.title.empty()) return title + ", " + set.title;
  const auto is_measured = [](const VariantPoint* point) { return point != nullptr; };
  const auto first = std::ranges::find_if(set.points, is_measured);
  if (first == set.points.end()) return title;
  if (is_same_of_all(set, &VariantPoint::tgt_len))
    title += fmt::format(", segments of {}", human_count((*first)->tgt_len));
  if (is_same_of_all(set, &VariantPoint::mem_len)) title += fmt::format(", memory {}", human_count((*first)->mem_len));
  return title;
}

MeasureKind chosen_by(const ComparisonResult& result) {
  const auto by_accuracy = [](const ComparedVariant& of) { return of.rate->chosen_by == MeasureKind::kAccuracy; };
  return std::ranges::any_of(result.variants, by_accuracy) ? MeasureKind::kAccuracy : MeasureKind::kLoss;
}

std::string rates_title(const ComparisonResult& result) {
  const MeasureKind kind = chosen_by(result);
  return fmt::format("Learning rates, by {} on validation",
                     kind == MeasureKind::kAccuracy ? "right answers in %" : units_of(result, kind).name);
}

std::optional<double> found_at(const ComparisonResult& result, const SweptRate::Tried& tried, MeasureKind kind) {
  const double scale = units_of(result, kind).scale;
  if (kind == MeasureKind::kAccuracy) return tried.accuracy ? std::optional(*tried.accuracy * scale) : std::nullopt;
  return tried.loss ? std::optional(result.bits(*tried.loss, tried.bits_per_byte)) : std::nullopt;
}

std::string text_of_seeds(const VariantMeasure& measure, const MeasureUnits& units) {
  std::vector<std::string> parts;
  for (const std::optional<double>& of_seed : measure.of_seeds)
    if (of_seed) parts.push_back(fmt::format("{:.{}f}", *of_seed * units.scale, units.decimals));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string verdict_of(const SeedDifference& difference, const MeasureUnits& units) {
  if (!difference.error_of_text) return "too few tokens to tell";
  if (!difference.confidence95) return "too few seeds to tell";
  if (!difference.is_significant()) return "not significant";
  return (difference.mean > 0.0) == units.is_higher_better ? "better" : "worse";
}

std::string divergence_of(const ComparisonResult& result, const ComparedVariant& variant) {
  if (variant.diverged.empty()) return "";
  return fmt::format("{} of {} seeds diverged", variant.diverged.size(), result.seeds.size());
}

}  // namespace segue
