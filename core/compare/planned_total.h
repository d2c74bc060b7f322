// Estimates what all trainings of a comparison cost together, and how long the remaining ones will take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "core/compare/comparison.h"

namespace segue {

struct PlannedRuns {
  std::vector<ComparedRun> timings = {};
  std::vector<ComparedRun> sweep = {};
  std::vector<ComparedRun> runs = {};  // those of the first seed are of the sweep, if there is one
};

struct PlannedTotal {
  int64_t trainings = 0;
  int64_t left = 0;
  std::optional<double> tokens = {};  // that all train on; none while steps are not timed
  std::optional<double> flops = {};   // of all, forward and backward
  // Of those left with their measuring, as fast as those that have ended were; none before one has.
  std::optional<double> seconds_left = {};
  // Of their steps alone, by a budget of seconds.
  std::optional<double> budgeted_seconds_left = {};
};

// `has_steps`: a budget of seconds, if there is one, has become steps. Throws DataError naming the file for notes of
// programs in `directory`, that of the comparison, that are damaged.
PlannedTotal planned_total(const ComparisonPlan& plan, const PlannedRuns& planned, bool has_steps,
                           const std::filesystem::path& directory);

// "78 trainings, 63,897,600 tokens, 1.2e+15 FLOP", and below it "66 are left, which take about 3 h 20 min".
std::string describe(const PlannedTotal& total);

// {"trainings", "left", "tokens", "flops", "seconds_left", "budgeted_seconds_left"}: null where they are not known
OrderedJson total_json(const PlannedTotal& total);

}  // namespace segue
