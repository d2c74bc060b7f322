// From the directories of the runs to losses, differences and costs.
#include "core/compare/comparison_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "core/checkpoint/checkpoint_store.h"
#include "core/compare/process_notes.h"
#include "core/evaluation/loss_units.h"
#include "core/evaluation/paired_losses.h"
#include "core/memory/memory.h"
#include "core/model/stored_model.h"
#include "core/model/transformer.h"

namespace segue {

namespace {

// What was found at each of the measured lengths.
const report::Evaluation& evaluation_of(const report::RunData& run, std::string_view name = kComparedEvaluation) {
  const auto found = std::ranges::find(run.evaluations, name, &report::Evaluation::name);
  if (found == run.evaluations.end() || found->results.empty())
    throw DataError("{}: evaluation \"{}\": expected results, found none", run.path.string(), name);
  return *found;
}

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

// The most memory that training of a run was seen to hold.
std::optional<int64_t> peak_of(const std::filesystem::path& directory, const ComparedRun& run) {
  std::optional<int64_t> peak;
  for (const ProcessNote& note : notes_of(directory, run))
    if (note.command == "train") peak = std::max(peak.value_or(0), note.peak_bytes);
  return peak;
}

// That a stream keeps from segment to segment.
int64_t memory_bytes_of(const Config& config, int64_t mem_len) {
  const bool is_short = config.training.precision == PrecisionKind::kBf16;
  const Compute stored{.activations = is_short ? DType::kBFloat16 : DType::kFloat32};
  ModelUse use = use_of(config.model);
  use.mem_len = mem_len;
  return make_training_memory(config.model, use, 1, stored)->remembered_bytes();
}

VariantCost cost_of(const ComparedVariant& variant, int64_t vocab_size) {
  const Config& config = variant.config;
  VariantCost cost{.steps = config.training.max_step,
                   .parameters = report::count_parameters(config.model, vocab_size),
                   .flops = flops_of_steps(config, vocab_size, config.training.max_step),
                   .memory_bytes = memory_bytes_of(config, config.model.mem_len)};
  const auto count = static_cast<double>(variant.runs.size());
  for (const report::RunData& run : variant.runs) {
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

// What all variants have of a measure, by variant and seed; none where some run does not tell it.
using Ways = std::vector<LossesOfSeeds>;
struct MeasuredWays {
  Ways losses = {};
  Ways answers = {};
};

VariantMeasure measure_of(const LossesOfSeeds& way, LossPer per = LossPer::kToken) {
  VariantMeasure measure{.per = per};
  std::vector<LossMean> known;
  for (const std::optional<LossMean>& of_seed : way) {
    measure.of_seeds.push_back(of_seed ? std::optional(of_seed->mean(per)) : std::nullopt);
    if (of_seed) known.push_back(*of_seed);
  }
  measure.values = LossMean::average(known);
  return measure;
}

// From the first variant. `points`: of all variants, null where all seeds diverged.
void add_differences(const std::vector<VariantPoint*>& points, const MeasuredWays& ways) {
  const auto add = [&](const Ways& of_measure, auto measure_at, LossPer per = LossPer::kToken) {
    if (of_measure.empty()) return;
    const std::vector<SeedDifference> differences = differences_over_seeds(of_measure, per);
    for (size_t v = 0; v < points.size(); ++v) {
      if (points[v] == nullptr) continue;
      std::optional<SeedDifference>& difference = measure_at(*points[v]).difference;
      difference.reset();
      if (v > 0 && differences[v - 1].seeds > 0) difference = differences[v - 1];
    }
  };
  add(ways.losses, [](VariantPoint& point) -> VariantMeasure& { return point.loss; });
  add(ways.answers, [](VariantPoint& point) -> VariantMeasure& { return *point.accuracy; });
  const auto is_per_byte = [](const VariantPoint* point) { return point == nullptr || point->loss_per_byte; };
  if (std::ranges::all_of(points, is_per_byte))
    add(
        ways.losses, [](VariantPoint& point) -> VariantMeasure& { return *point.loss_per_byte; }, LossPer::kByte);
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
  Parameters parameters(Transformer(model, vocab_size).parameter_specs());
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
    peaks.push_back(peak_of(directory, run));
    if (has_diverged(directory, run)) {
      compared.diverged.push_back(run.seed);
    } else {
      compared.runs.push_back(report::read_run(directory / run.directory()));
    }
  }
  compared.cost = cost_of(compared, plan.vocab_size);
  compared.cost.peak_bytes = std::ranges::max(peaks);  // one that is not known is below all
  if (!compared.runs.empty()) compared.biases = read_biases(compared.runs.front(), plan.vocab_size);
  return compared;
}

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

}  // namespace

double ComparisonResult::bits(double loss, const std::optional<double>& bits_per_byte) const {
  return is_per_byte() && bits_per_byte ? *bits_per_byte : bits_of(loss);
}

std::string ComparisonResult::bits_name() const { return "bits/" + (is_per_byte() ? "byte" : unit); }

size_t ComparisonResult::points() const {
  size_t points = 0;
  for (const ComparedVariant& variant : variants) points = std::max(points, variant.points.size());
  return points;
}

std::vector<MeasureKind> ComparisonResult::measures() const {
  if (points() == 0) return {};
  return answers > 0 ? std::vector{MeasureKind::kAccuracy, MeasureKind::kLoss} : std::vector{MeasureKind::kLoss};
}

const VariantMeasure* VariantPoint::find(MeasureKind kind) const {
  if (kind == MeasureKind::kLoss) return loss_per_byte ? &*loss_per_byte : &loss;
  return accuracy ? &*accuracy : nullptr;
}

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

const report::EvaluatedLength& measured_at(const report::RunData& run, size_t point) {
  return evaluation_of(run).results[point];
}

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
