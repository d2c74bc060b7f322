#include "core/compare/comparison_result.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/compare/compared_runs.h"
#include "core/evaluation/paired_losses.h"
#include "core/model/parameter_specs.h"
#include "core/model/stored_model.h"

namespace segue {

namespace {

// Seeds from which every variant has ended.
std::vector<int64_t> whole_seeds(const Comparison& comparison, const std::vector<ComparedRun>& runs,
                                 const std::filesystem::path& directory) {
  std::vector<int64_t> seeds;
  for (const int64_t seed : comparison.seeds) {
    const bool is_whole = std::ranges::all_of(
        runs, [&](const ComparedRun& run) { return run.seed != seed || has_ended(directory, run); });
    if (is_whole) seeds.push_back(seed);
  }
  return seeds;
}

// Where the losses of a run at one of the measured lengths are.
std::filesystem::path losses_file(const report::RunData& run, size_t point) {
  return run.path / "evaluations" / kComparedEvaluation / measured_at(run, point).per_token;
}

const report::RunData* first_run(const std::vector<ComparedVariant>& variants) {
  const auto found = std::ranges::find_if(variants, [](const ComparedVariant& of) { return !of.runs.empty(); });
  return found == variants.end() ? nullptr : &found->runs.front();
}

void check_points(const std::vector<ComparedVariant>& variants, const report::RunData& first) {
  const size_t points = evaluation_of(first).results.size();
  for (const ComparedVariant& variant : variants) {
    for (const report::RunData& run : variant.runs) {
      const size_t found = evaluation_of(run).results.size();
      if (found != points)
        throw DataError("{}: evaluation \"{}\": expected {} results as of {}, found {}", run.path.string(),
                        kComparedEvaluation, points, first.path.string(), found);
    }
  }
}

// Of all variants and seeds at one of the measured lengths.
void add_files(const ComparisonResult& result, size_t point, PairedLosses& paired) {
  for (const ComparedVariant& variant : result.variants)
    for (const report::RunData& run : variant.runs) paired.add(losses_file(run, point));
}

// Adds what the runs of all variants found at one of the measured lengths, and returns it by seed. `evaluation`: of the
// first of their files, and behind them after the call.
MeasuredWays add_point(ComparisonResult& result, size_t point,
                       std::vector<PairedLosses::Evaluation>::const_iterator& evaluation) {
  MeasuredWays ways;
  bool tells_answers = true;
  for (const ComparedVariant& variant : result.variants) {
    LossesOfSeeds& losses = ways.losses.emplace_back(result.seeds.size());
    LossesOfSeeds& answers = ways.answers.emplace_back(result.seeds.size());
    auto run = variant.runs.begin();
    for (size_t s = 0; s < result.seeds.size(); ++s) {
      if (std::ranges::count(variant.diverged, result.seeds[s]) > 0) continue;
      const bool is_told = measured_at(*run++, point).answers.has_value();
      losses[s] = evaluation->losses;
      answers[s] = evaluation->answers;
      tells_answers = tells_answers && is_told && evaluation->answers;
      ++evaluation;
    }
  }
  if (!tells_answers) ways.answers.clear();
  std::vector<VariantPoint*> points;
  for (size_t v = 0; v < result.variants.size(); ++v) {
    ComparedVariant& variant = result.variants[v];
    points.push_back(nullptr);
    if (variant.runs.empty()) continue;
    const report::EvaluatedLength& lengths = measured_at(variant.runs.front(), point);
    VariantPoint& added = variant.points.emplace_back(VariantPoint{
        .number = point, .tgt_len = lengths.tgt_len, .mem_len = lengths.mem_len, .loss = measure_of(ways.losses[v])});
    if (result.is_per_byte()) added.loss_per_byte = measure_of(ways.losses[v], LossPer::kByte);
    added.memory_bytes = memory_bytes_of(variant.config, added.mem_len);
    if (tells_answers) added.accuracy = measure_of(ways.answers[v]);
    points.back() = &added;
  }
  add_differences(points, ways);
  return ways;
}

// Which of the measured lengths each variant was trained with; empty where one was not measured with its own, or when
// these are the same for all.
std::vector<size_t> points_as_trained(const ComparisonResult& result) {
  std::vector<size_t> points;
  bool is_same = true;
  std::optional<size_t> first;
  for (const ComparedVariant& variant : result.variants) {
    size_t& point = points.emplace_back(0);
    if (variant.points.empty()) continue;
    const auto is_own = [&](const VariantPoint& measured) {
      return measured.tgt_len == variant.config.training.tgt_len && measured.mem_len == variant.config.model.mem_len;
    };
    const auto found = std::ranges::find_if(variant.points, is_own);
    if (found == variant.points.end()) return {};
    point = found->number;
    is_same = is_same && point == first.value_or(point);
    first = point;
  }
  return is_same ? std::vector<size_t>() : points;
}

// `all`: by the measured lengths.
void add_as_trained(ComparisonResult& result, const std::vector<MeasuredWays>& all) {
  const std::vector<size_t> numbers = points_as_trained(result);
  if (numbers.empty()) return;
  MeasuredWays ways;
  std::vector<VariantPoint*> points;
  for (size_t v = 0; v < numbers.size(); ++v) {
    const MeasuredWays& own = all[numbers[v]];
    ways.losses.push_back(own.losses[v]);
    if (!own.answers.empty()) ways.answers.push_back(own.answers[v]);
    ComparedVariant& variant = result.variants[v];
    const bool has_ended = !variant.points.empty();
    points.push_back(has_ended ? &variant.as_trained.emplace(variant.points[numbers[v]]) : nullptr);
  }
  add_differences(points, ways);
}

DistanceBiases read_biases(const report::RunData& run, int64_t vocab_size) {
  const ModelConfig& model = run.config.model;
  const CheckpointStore store(run.path / "checkpoints");
  const std::optional<int64_t> newest = store.newest();
  if (!newest || !has_distance_biases(model)) return {};
  Parameters parameters(parameter_specs(model, vocab_size));
  read_weights(store.open(*newest), parameters);
  return distance_biases(model, parameters, use_of(model).memory_rows() + run.config.training.tgt_len);
}

// Its runs from these seeds, and what they took.
ComparedVariant read_variant(const ComparisonPlan& plan, const std::vector<ComparedRun>& runs, size_t v,
                             const std::vector<int64_t>& seeds, const std::filesystem::path& directory) {
  const VariantConfig& variant = plan.comparison.variants[v];
  ComparedVariant compared{.name = variant.name, .set = variant.set};
  std::vector<std::optional<int64_t>> peaks;
  for (const ComparedRun& run : runs) {
    if (run.variant != variant.name || std::ranges::count(seeds, run.seed) == 0) continue;
    if (run.seed == seeds.front()) compared.config = run.config;
    peaks.push_back(peak_bytes_of(directory, run));
    if (has_diverged(directory, run)) {
      compared.diverged.push_back(run.seed);
    } else {
      compared.runs.push_back(report::read_run(directory / run.directory()));
    }
  }
  compared.cost = cost_of(compared.config, compared.runs, plan.vocab_size);
  compared.cost.peak_bytes = std::ranges::max(peaks);  // one that is not known is below all
  if (!compared.runs.empty()) compared.biases = read_biases(compared.runs.front(), plan.vocab_size);
  return compared;
}

}  // namespace

double ComparisonResult::bits(double loss, const std::optional<double>& bits_per_byte) const {
  return is_per_byte() && bits_per_byte ? *bits_per_byte : bits_of(loss);
}

std::string ComparisonResult::bits_name() const {
  if (is_per_byte()) return "bits/byte";
  return unit.empty() ? "bits" : "bits/" + unit;  // where all runs diverged, none says what its tokens are
}

size_t ComparisonResult::points() const {
  size_t points = 0;
  for (const ComparedVariant& variant : variants) points = std::max(points, variant.points.size());
  return points;
}

std::vector<MeasureKind> ComparisonResult::measures() const {
  if (points() == 0) return {};
  return answers > 0 ? std::vector{MeasureKind::kAccuracy, MeasureKind::kLoss} : std::vector{MeasureKind::kLoss};
}

ComparisonResult read_result(const ComparisonPlan& plan, const std::vector<ComparedRun>& runs,
                             const std::vector<SweptRate>& rates, const std::filesystem::path& directory) {
  const Comparison& comparison = plan.comparison;
  ComparisonResult result{.split = comparison.measure.split,
                          .set = plan.set,
                          .vocab_size = plan.vocab_size,
                          .budget = comparison.budget,
                          .seeds = whole_seeds(comparison, runs, directory),
                          .runs = std::ssize(runs)};
  for (const ComparedRun& run : runs) {
    if (has_diverged(directory, run)) {
      ++result.diverged_runs;
    } else if (is_measured(directory, run)) {
      ++result.measured_runs;
    }
  }
  if (result.seeds.empty()) return result;
  for (size_t v = 0; v < comparison.variants.size(); ++v) {
    ComparedVariant& compared = result.variants.emplace_back(read_variant(plan, runs, v, result.seeds, directory));
    if (!rates.empty()) compared.rate = rates[v];
  }
  const report::RunData* first = first_run(result.variants);
  if (first == nullptr) return result;
  check_points(result.variants, *first);
  PairedLosses paired;
  const size_t points = evaluation_of(*first).results.size();
  for (size_t point = 0; point < points; ++point) add_files(result, point, paired);
  result.unit = paired.unit();
  result.tokens_per_byte = paired.tokens_per_byte();
  result.tokens = paired.tokens();
  result.unknown = paired.unknown();
  std::vector<MeasuredWays> all;
  auto evaluation = paired.evaluations().begin();
  for (size_t point = 0; point < points; ++point) all.push_back(add_point(result, point, evaluation));
  add_as_trained(result, all);
  if (!all.back().answers.empty()) result.answers = paired.evaluations().back().answers->tokens();
  return result;
}

}  // namespace segue
