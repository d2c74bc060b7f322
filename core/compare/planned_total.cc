#include "core/compare/planned_total.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/text.h"
#include "core/compare/compared_runs.h"
#include "core/compare/process_notes.h"
#include "core/train/stages.h"

namespace segue {
namespace {

// Of all programs that were run for it.
double seconds_of_programs(const std::filesystem::path& directory, const ComparedRun& run) {
  double seconds = 0.0;
  for (const ProcessNote& note : notes_of(directory, run)) seconds += note.seconds;
  return seconds;
}

struct TotalSums {
  double tokens = 0.0;
  double flops = 0.0;
  double flops_left = 0.0;
  double flops_timed = 0.0;  // of those that have ended, in so many seconds:
  double seconds = 0.0;
};

}  // namespace

PlannedTotal planned_total(const ComparisonPlan& plan, const PlannedRuns& planned, bool has_steps,
                           const std::filesystem::path& directory) {
  PlannedTotal total;
  TotalSums sums;
  std::map<std::string, double> flops_of_variants;  // the same from all seeds and at all learning rates
  int64_t budgeted = 0;
  const auto flops_of = [&](const ComparedRun& run) {
    const auto [found, is_new] = flops_of_variants.try_emplace(run.timed ? run.name() : run.variant);
    if (is_new) found->second = flops_of_steps(run.config, plan.vocab_size, run.config.training.max_step);
    return found->second;
  };
  const auto add = [&](const ComparedRun& run, bool has_ended) {
    const double flops = flops_of(run);
    const double seconds = has_ended ? seconds_of_programs(directory, run) : 0.0;
    ++total.trainings;
    total.left += has_ended ? 0 : 1;
    budgeted += has_ended || run.timed ? 0 : 1;
    sums.tokens += tokens_after(run.config, 0);
    sums.flops += flops;
    if (!has_ended) sums.flops_left += flops;
    // A timing is short, and most of it is not its steps; one that diverged did not make all of its steps.
    if (seconds > 0.0 && !run.timed && !has_diverged(directory, run)) {
      sums.flops_timed += flops;
      sums.seconds += seconds;
    }
  };
  for (const ComparedRun& run : planned.timings) add(run, is_timed(directory, run));
  for (const ComparedRun& run : planned.sweep) add(run, has_ended(directory, run, kSweptEvaluation));
  for (const ComparedRun& run : planned.runs)
    if (planned.sweep.empty() || run.seed != plan.comparison.seeds.front()) add(run, has_ended(directory, run));
  if (has_steps) {
    total.tokens = sums.tokens;
    total.flops = sums.flops;
    if (sums.flops_timed > 0.0) total.seconds_left = sums.seconds / sums.flops_timed * sums.flops_left;
  }
  if (plan.comparison.budget.kind == BudgetKind::kSeconds)
    total.budgeted_seconds_left = static_cast<double>(budgeted) * plan.comparison.budget.amount;
  return total;
}

std::string describe(const PlannedTotal& total) {
  std::string text = fmt::format("{} training{}", total.trainings, total.trainings == 1 ? "" : "s");
  if (total.tokens) text += fmt::format(", {} tokens", human_count(std::llround(*total.tokens)));
  if (total.flops) text += fmt::format(", {:.3g} FLOP", *total.flops);
  if (total.left == 0) return text + "; none is left";
  text += fmt::format("\n{} {} left", total.left, total.left == 1 ? "is" : "are");
  if (total.seconds_left)
    return text +
           fmt::format(", which take{} about {}", total.left == 1 ? "s" : "", human_duration(*total.seconds_left));
  if (total.budgeted_seconds_left)
    return text + fmt::format(", whose steps take {} by the budget, besides timing and evaluating",
                              human_duration(*total.budgeted_seconds_left));
  return text + "; how long they take is known once one has ended";
}

OrderedJson total_json(const PlannedTotal& total) {
  const auto known = [](const std::optional<double>& value) { return value ? OrderedJson(*value) : OrderedJson(); };
  return {{"trainings", total.trainings},
          {"left", total.left},
          {"tokens", known(total.tokens)},
          {"flops", known(total.flops)},
          {"seconds_left", known(total.seconds_left)},
          {"budgeted_seconds_left", known(total.budgeted_seconds_left)}};
}

}  // namespace segue
