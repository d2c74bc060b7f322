#include "core/report/units.h"

#include <algorithm>
#include <numbers>

#include "core/drawing/numbers.h"

namespace segue::report {

namespace {

template <typename List>
bool all_per_byte(const List& list) {
  return std::all_of(list.begin(), list.end(), [](const auto& entry) { return entry.bits_per_byte.has_value(); });
}

bool are_masked(const std::vector<RunData>& runs) {
  return std::ranges::all_of(runs, [](const RunData& run) { return run.config.model.objective.is_masked(); });
}

}  // namespace

double LossUnit::scale(int64_t tokens, int64_t bytes, double loss, const std::optional<double>& bits_per_byte) const {
  if (!per_byte_ || bytes <= 0) return scale(loss, bits_per_byte);
  return static_cast<double>(tokens) / static_cast<double>(bytes) / std::numbers::ln2;
}

std::string LossUnit::text(double value) const { return fixed(value, per_byte_ ? 4 : 3) + " " + name(); }

LossUnit unit_of_training(const std::vector<RunData>& runs) {
  const bool per_byte = std::ranges::all_of(runs, [](const RunData& run) {
    return all_per_byte(run.metrics.training) && all_per_byte(run.metrics.validation);
  });
  return LossUnit(per_byte, are_masked(runs));
}

LossUnit unit_of_evaluations(const std::vector<RunData>& runs) {
  const bool per_byte = std::ranges::all_of(runs, [](const RunData& run) {
    return std::ranges::all_of(run.evaluations,
                               [](const Evaluation& evaluation) { return all_per_byte(evaluation.results); });
  });
  return LossUnit(per_byte, are_masked(runs));
}

}  // namespace segue::report
