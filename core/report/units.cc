// The choice of the unit.
#include "core/report/units.h"

#include <algorithm>

#include "core/drawing/numbers.h"

namespace segue::report {

namespace {

template <typename List>
bool all_per_byte(const List& list) {
  return std::all_of(list.begin(), list.end(), [](const auto& entry) { return entry.bits_per_byte.has_value(); });
}

}  // namespace

std::string LossUnit::text(double value) const { return fixed(value, per_byte_ ? 4 : 3) + " " + name(); }

LossUnit unit_of_training(const std::vector<RunData>& runs) {
  return LossUnit(std::all_of(runs.begin(), runs.end(), [](const RunData& run) {
    return all_per_byte(run.metrics.training) && all_per_byte(run.metrics.validation);
  }));
}

LossUnit unit_of_evaluations(const std::vector<RunData>& runs) {
  return LossUnit(std::all_of(runs.begin(), runs.end(), [](const RunData& run) {
    return std::all_of(run.evaluations.begin(), run.evaluations.end(),
                       [](const Evaluation& evaluation) { return all_per_byte(evaluation.results); });
  }));
}

}  // namespace segue::report
