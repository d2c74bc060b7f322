// What tables and drawings of a comparison's result share: which numbers they set side by side, units, titles, and the
// words for differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/comparison_result.h"

namespace segue {

// How a measure is told to people.
struct MeasureUnits {
  std::string name = {};  // "bits/byte", or "% right"
  double scale = 1.0;     // of one nat, or of all answers
  int decimals = 0;
  bool is_higher_better = false;
};
MeasureUnits units_of(const ComparisonResult& result, MeasureKind kind);

inline constexpr const char* kAsTrained = "as-trained";

// What is set beside one another of all variants: each as it was trained, or all at one of the measured lengths.
struct PointSet {
  std::string name = {};                         // kAsTrained, or "" and "1", "2", ... of the measured lengths
  std::string title = {};                        // "each as it was trained", or none
  std::vector<const VariantPoint*> points = {};  // by variant; null when all its seeds diverged
  const VariantMeasure* find(size_t variant, MeasureKind kind) const;  // null: not known
};

// First that of each as it was trained, if there is one.
std::vector<PointSet> point_sets(const ComparisonResult& result);

// What a table says of the first variant, whose difference from itself would say nothing.
inline constexpr const char* kBaseline = "baseline";

// Whether it is the same of all variants that have it.
bool is_same_of_all(const PointSet& set, int64_t VariantPoint::*length);

// The title of a table of it: "Loss in bits/byte, each as it was trained", "Right answers in %, memory 24".
std::string title_of(const ComparisonResult& result, const PointSet& set, MeasureKind kind);

inline constexpr const char* kCostsTitle = "Costs of one run";
// What learning rates were chosen by: a variant all of whose rates diverged says nothing of it.
MeasureKind chosen_by(const ComparisonResult& result);

std::string rates_title(const ComparisonResult& result);  // what learning rates were chosen by

// What a learning rate that was tried found, in the units of the measure; none: diverged, or not known.
std::optional<double> found_at(const ComparisonResult& result, const SweptRate::Tried& tried, MeasureKind kind);

// "94.47, 96.50, 10.53": of each seed that did not diverge.
std::string text_of_seeds(const VariantMeasure& measure, const MeasureUnits& units);

// "better", "worse", "not significant", or why that cannot be told.
std::string verdict_of(const SeedDifference& difference, const MeasureUnits& units);

// "2 of 3 seeds diverged"; empty when none did.
std::string divergence_of(const ComparisonResult& result, const ComparedVariant& variant);

}  // namespace segue
