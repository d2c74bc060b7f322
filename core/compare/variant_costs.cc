#include "core/compare/variant_costs.h"

#include <algorithm>

#include "base/error.h"
#include "core/compare/compared_runs.h"
#include "core/compare/process_notes.h"
#include "core/memory/memory.h"
#include "core/model/transformer.h"

namespace segue {

namespace {

// Of a timing, once its memory is full.
double seconds_of_step(const report::RunData& timing) {
  const std::vector<report::TrainingPoint>& points = timing.metrics.training;
  const int64_t filling = filling_steps(timing.config);
  const auto from =
      std::ranges::find_if(points, [&](const report::TrainingPoint& point) { return point.step > filling; });
  if (from == points.end() || from->step == points.back().step)
    throw DataError("{}: expected two lines of metrics after step {}, which fills the memory, found fewer",
                    timing.path.string(), filling);
  return (points.back().seconds - from->seconds) / static_cast<double>(points.back().step - from->step);
}

}  // namespace

VariantCost cost_of(const Config& config, const std::vector<report::RunData>& runs, int64_t vocab_size) {
  VariantCost cost{.steps = config.training.max_step,
                   .parameters = report::count_parameters(config.model, vocab_size),
                   .flops = flops_of_steps(config, vocab_size, config.training.max_step),
                   .memory_bytes = memory_bytes_of(config, config.model.mem_len)};
  const auto count = static_cast<double>(runs.size());
  for (const report::RunData& run : runs) {
    if (!run.metrics.training.empty()) {
      const report::TrainingPoint& last = run.metrics.training.back();
      cost.tokens += static_cast<double>(last.tokens) / count;
      cost.seconds += last.seconds / count;
    }
    cost.evaluated_per_second += evaluation_of(run).results.front().tokens_per_second / count;
  }
  if (cost.seconds > 0.0) cost.trained_per_second = cost.tokens / cost.seconds;
  return cost;
}

int64_t memory_bytes_of(const Config& config, int64_t mem_len) {
  const bool is_short = config.training.precision == PrecisionKind::kBf16;
  const Compute stored{.activations = is_short ? DType::kBFloat16 : DType::kFloat32};
  ModelUse use = use_of(config.model);
  use.mem_len = mem_len;
  return make_training_memory(config.model, use, 1, stored)->remembered_bytes();
}

std::optional<int64_t> peak_bytes_of(const std::filesystem::path& directory, const ComparedRun& run) {
  std::optional<int64_t> peak;
  for (const ProcessNote& note : notes_of(directory, run))
    if (note.command == "train") peak = std::max(peak.value_or(0), note.peak_bytes);
  return peak;
}

StepSeconds timed_seconds(const ComparisonPlan& plan, const std::vector<ComparedRun>& timings,
                          const std::filesystem::path& directory) {
  if (!std::ranges::all_of(timings, [&](const ComparedRun& run) { return is_timed(directory, run); })) return {};
  StepSeconds seconds(plan.comparison.variants.size());
  for (size_t v = 0; v < seconds.size(); ++v) {
    for (const ComparedRun& timing : timings) {
      if (timing.variant == plan.comparison.variants[v].name)
        seconds[v].push_back(seconds_of_step(report::read_run(directory / timing.directory())));
    }
  }
  return seconds;
}

}  // namespace segue
