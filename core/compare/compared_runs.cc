#include "core/compare/compared_runs.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace segue {

bool is_measured(const std::filesystem::path& directory, const ComparedRun& run, std::string_view evaluation) {
  return path_exists(directory / run.directory() / "evaluations" / evaluation / "evaluation.json");
}

bool has_diverged(const std::filesystem::path& directory, const ComparedRun& run) {
  return path_exists(directory / run.directory() / kDivergedFile);
}

bool has_ended(const std::filesystem::path& directory, const ComparedRun& run, std::string_view evaluation) {
  return is_measured(directory, run, evaluation) || has_diverged(directory, run);
}

bool is_timed(const std::filesystem::path& directory, const ComparedRun& run) {
  const std::filesystem::path path = directory / run.directory();
  if (!path_exists(path / "config.json")) return false;
  const std::vector<report::TrainingPoint> points = report::read_run(path).metrics.training;
  return !points.empty() && points.back().step == run.config.training.max_step;
}

const report::Evaluation& evaluation_of(const report::RunData& run, std::string_view name) {
  const auto found = std::ranges::find(run.evaluations, name, &report::Evaluation::name);
  if (found == run.evaluations.end() || found->results.empty())
    throw DataError("{}: evaluation \"{}\": expected results, found none", run.path.string(), name);
  return *found;
}

const report::EvaluatedLength& measured_at(const report::RunData& run, size_t point) {
  return evaluation_of(run).results[point];
}

}  // namespace segue
