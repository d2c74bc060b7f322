#include "core/compare/swept_rates.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/compare/compared_runs.h"

namespace segue {

namespace {

// What a run of the sweep found, and took.
void add_tried(SweptRate& rate, const ComparedRun& run, int64_t vocab_size, const std::filesystem::path& directory) {
  const report::RunData read = report::read_run(directory / run.directory());
  SweptRate::Tried& tried = rate.tried.emplace_back(SweptRate::Tried{.learning_rate = run.config.optimizer.lr});
  int64_t steps = run.config.training.max_step;
  if (is_measured(directory, run, kSweptEvaluation)) {
    const report::EvaluatedLength& found = evaluation_of(read, kSweptEvaluation).results.front();
    tried.loss = found.loss;
    tried.bits_per_byte = found.bits_per_byte;
    if (found.answers) tried.accuracy = found.answers->total.accuracy;
  } else {
    steps = read.metrics.training.empty() ? 0 : read.metrics.training.back().step;
  }
  rate.flops += flops_of_steps(run.config, vocab_size, steps);
}

}  // namespace

void choose_best(SweptRate& rate) {
  const auto ended = [](const SweptRate::Tried& one) { return one.loss.has_value(); };
  const auto is_told = [](const SweptRate::Tried& one) { return one.accuracy || !one.loss; };
  if (std::ranges::any_of(rate.tried, ended) && std::ranges::all_of(rate.tried, is_told))
    rate.chosen_by = MeasureKind::kAccuracy;
  const auto key_of = [&](const SweptRate::Tried& one) {
    const double wrong = rate.chosen_by == MeasureKind::kAccuracy ? -one.accuracy.value_or(-1.0) : 0.0;
    return std::pair(wrong, one.loss.value_or(std::numeric_limits<double>::infinity()));
  };
  rate.best = static_cast<size_t>(std::ranges::min_element(rate.tried, {}, key_of) - rate.tried.begin());
}

std::vector<SweptRate> swept_rates(const ComparisonPlan& plan, const std::vector<ComparedRun>& sweep,
                                   const std::filesystem::path& directory) {
  const auto is_known = [&](const ComparedRun& run) { return has_ended(directory, run, kSweptEvaluation); };
  if (!std::ranges::all_of(sweep, is_known)) return {};
  std::vector<SweptRate> rates;
  for (const VariantConfig& variant : plan.comparison.variants) {
    SweptRate rate;
    for (const ComparedRun& run : sweep) {
      if (run.variant == variant.name) add_tried(rate, run, plan.vocab_size, directory);
    }
    if (rate.tried.empty()) return {};
    std::ranges::sort(rate.tried, {}, &SweptRate::Tried::learning_rate);
    choose_best(rate);
    rates.push_back(std::move(rate));
  }
  return rates;
}

}  // namespace segue
