// From the directories of the runs to losses, differences and costs.
#include "core/compare/comparison_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "core/evaluation/loss_units.h"
#include "core/evaluation/paired_losses.h"
#include "core/memory/memory.h"
#include "core/report/json_node.h"

namespace segue {

namespace {

// What was found at each of the measured lengths.
const report::Evaluation& evaluation_of(const report::RunData& run, std::string_view name = kComparedEvaluation) {
  const auto found = std::ranges::find(run.evaluations, name, &report::Evaluation::name);
  if (found == run.evaluations.end() || found->results.empty())
    throw DataError("{}: evaluation \"{}\": expected results, found none", run.path.string(), name);
  return *found;
}

// Seeds from which every variant has been measured.
std::vector<int64_t> whole_seeds(const Comparison& comparison, const std::vector<ComparedRun>& runs,
                                 const std::filesystem::path& directory) {
  std::vector<int64_t> seeds;
  for (const int64_t seed : comparison.seeds) {
    const bool is_whole = std::ranges::all_of(
        runs, [&](const ComparedRun& run) { return run.seed != seed || is_measured(directory, run); });
    if (is_whole) seeds.push_back(seed);
  }
  return seeds;
}

// The most memory that training of each run was seen to hold.
std::map<std::string, int64_t> peaks_of(const std::filesystem::path& file) {
  std::map<std::string, int64_t> peaks;
  if (!path_exists(file)) return peaks;
  const std::string text = read_file(file);
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string source = fmt::format("{}, line {}", file.string(), ++number);
    const Json json = parse_json<DataError>(std::string_view(text).substr(begin, end - begin), source);
    const report::JsonNode line(json, source);
    if (line.at("command").text() == "train") {
      int64_t& peak = peaks[line.at("run").text()];
      peak = std::max(peak, line.at("peak_bytes").integer());
    }
    begin = end + 1;
  }
  return peaks;
}

VariantCost cost_of(const ComparedVariant& variant, int64_t vocab_size, const std::map<std::string, int64_t>& peaks) {
  const Config& config = variant.runs.front().config;
  VariantCost cost{.steps = config.training.max_step,
                   .parameters = variant.runs.front().parameters.value_or(0),
                   .flops = flops_of_steps(config, vocab_size, config.training.max_step),
                   .memory_bytes = make_training_memory(config.model, use_of(config.model), 1)->bytes()};
  const auto count = static_cast<double>(variant.runs.size());
  for (const report::RunData& run : variant.runs) {
    if (!run.metrics.training.empty()) {
      const report::TrainingPoint& last = run.metrics.training.back();
      cost.tokens += static_cast<double>(last.tokens) / count;
      cost.seconds += last.seconds / count;
    }
    cost.evaluated_per_second += evaluation_of(run).results.front().tokens_per_second / count;
    const auto peak = peaks.find(run.path.filename().string());
    if (peak != peaks.end()) cost.peak_bytes = std::max(cost.peak_bytes.value_or(0), peak->second);
  }
  if (cost.seconds > 0.0) cost.trained_per_second = cost.tokens / cost.seconds;
  return cost;
}

// Where the losses of a run at one of the measured lengths are.
std::filesystem::path losses_file(const report::RunData& run, size_t point) {
  return run.path / "evaluations" / kComparedEvaluation / evaluation_of(run).results[point].per_token;
}

void check_points(const std::vector<ComparedVariant>& variants) {
  const report::RunData& first = variants.front().runs.front();
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

// Adds what all variants lost at one of the measured lengths.
void add_point(ComparisonResult& result, size_t point, PairedLosses& paired) {
  std::vector<std::vector<LossMean>> ways;
  for (ComparedVariant& variant : result.variants) {
    const report::EvaluatedLength& lengths = evaluation_of(variant.runs.front()).results[point];
    VariantLoss& loss =
        variant.losses.emplace_back(VariantLoss{.tgt_len = lengths.tgt_len, .mem_len = lengths.mem_len});
    std::vector<LossMean>& way = ways.emplace_back();
    for (const report::RunData& run : variant.runs) {
      paired.add(losses_file(run, point));
      way.push_back(paired.evaluations().back().losses);
      loss.of_seeds.push_back(way.back().mean());
    }
    loss.losses = LossMean::average(way);
  }
  const std::vector<SeedDifference> differences = differences_over_seeds(ways);
  for (size_t v = 1; v < result.variants.size(); ++v) result.variants[v].losses[point].difference = differences[v - 1];
}

}  // namespace

double ComparisonResult::bits_per_nat() const { return bits_per_token(tokens_per_byte > 0.0 ? tokens_per_byte : 1.0); }

std::string ComparisonResult::bits_name() const { return "bits/" + (tokens_per_byte > 0.0 ? "byte" : unit); }

bool is_measured(const std::filesystem::path& directory, const ComparedRun& run, std::string_view evaluation) {
  return path_exists(directory / run.directory() / "evaluations" / evaluation / "evaluation.json");
}

bool is_timed(const std::filesystem::path& directory, const ComparedRun& run) {
  const std::filesystem::path path = directory / run.directory();
  if (!path_exists(path / "config.json")) return false;
  const std::vector<report::TrainingPoint> points = report::read_run(path).metrics.training;
  return !points.empty() && points.back().step == run.config.training.max_step;
}

// The first lines are left out: memories fill and caches warm up.
StepSeconds timed_seconds(const ComparisonPlan& plan, const std::vector<ComparedRun>& timings,
                          const std::filesystem::path& directory) {
  if (!std::ranges::all_of(timings, [&](const ComparedRun& run) { return is_timed(directory, run); })) return {};
  StepSeconds seconds;
  auto timing = timings.begin();
  for (const VariantConfig& variant : plan.comparison.variants) {
    std::vector<double>& of_variant = seconds.emplace_back();
    for (; timing != timings.end() && timing->variant.starts_with(variant.name + "-lengths-"); ++timing) {
      const std::vector<report::TrainingPoint> points =
          report::read_run(directory / timing->directory()).metrics.training;
      const report::TrainingPoint& from = points[points.size() / 2 - 1];
      of_variant.push_back((points.back().seconds - from.seconds) /
                           static_cast<double>(points.back().step - from.step));
    }
  }
  return seconds;
}

std::vector<SweptRate> swept_rates(const ComparisonPlan& plan, const std::vector<ComparedRun>& sweep,
                                   const std::filesystem::path& directory) {
  const auto is_known = [&](const ComparedRun& run) { return is_measured(directory, run, kSweptEvaluation); };
  if (!std::ranges::all_of(sweep, is_known)) return {};
  std::vector<SweptRate> rates;
  for (const VariantConfig& variant : plan.comparison.variants) {
    SweptRate rate;
    for (const ComparedRun& run : sweep) {
      if (run.variant != variant.name) continue;
      const report::RunData read = report::read_run(directory / run.directory());
      rate.tried.push_back({run.config.optimizer.lr, evaluation_of(read, kSweptEvaluation).results.front().loss});
      rate.flops += flops_of_steps(run.config, plan.vocab_size, run.config.training.max_step);
    }
    if (rate.tried.empty()) return {};
    std::ranges::sort(rate.tried, {}, &SweptRate::Tried::learning_rate);
    const auto best = std::ranges::min_element(rate.tried, {}, &SweptRate::Tried::loss);
    rate.best = static_cast<size_t>(best - rate.tried.begin());
    rates.push_back(std::move(rate));
  }
  return rates;
}

ComparisonResult read_result(const ComparisonPlan& plan, const std::vector<ComparedRun>& runs,
                             const std::vector<SweptRate>& rates, const std::filesystem::path& directory) {
  const Comparison& comparison = plan.comparison;
  ComparisonResult result{.split = comparison.measure.split,
                          .vocab_size = plan.vocab_size,
                          .budget = comparison.budget,
                          .seeds = whole_seeds(comparison, runs, directory),
                          .runs = std::ssize(runs)};
  result.measured_runs =
      std::ranges::count_if(runs, [&](const ComparedRun& run) { return is_measured(directory, run); });
  if (result.seeds.empty()) return result;
  const std::map<std::string, int64_t> peaks = peaks_of(directory / kProcessesFile);
  for (const VariantConfig& variant : comparison.variants) {
    ComparedVariant& compared = result.variants.emplace_back();
    compared.name = variant.name;
    compared.set = variant.set;
    if (!rates.empty()) compared.rate = rates[result.variants.size() - 1];
    for (const int64_t seed : result.seeds) {
      const auto run = std::ranges::find_if(
          runs, [&](const ComparedRun& of) { return of.variant == variant.name && of.seed == seed; });
      compared.runs.push_back(report::read_run(directory / run->directory()));
    }
    compared.cost = cost_of(compared, plan.vocab_size, peaks);
  }
  check_points(result.variants);
  PairedLosses paired;
  const size_t points = evaluation_of(result.variants.front().runs.front()).results.size();
  for (size_t point = 0; point < points; ++point) add_point(result, point, paired);
  result.unit = paired.unit();
  result.tokens_per_byte = paired.tokens_per_byte();
  result.tokens = paired.tokens();
  return result;
}

}  // namespace segue
