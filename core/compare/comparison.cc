#include "core/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json_text.h"
#include "base/load_document.h"
#include "core/config/bounds.h"
#include "core/config/layers.h"
#include "core/evaluation/evaluation_lengths.h"
#include "core/model/transformer.h"
#include "core/train/scored_targets.h"

namespace segue {

namespace {

// Groups of keys that say what is learned from and how runs are measured, not what is trained.
constexpr std::array<std::string_view, 2> kOfAll{"data.", "evaluation."};
constexpr std::string_view kObjective = "model.objective.kind";  // losses of two are not of the same thing
constexpr size_t kLongestExcerpt = 60;                           // of a name, in errors

bool is_plain_name(const std::string& name) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, is_plain);
}

template <typename T, typename Projection>
const T* find_twice(const std::vector<T>& list, Projection of) {
  for (size_t i = 0; i < list.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      if (of(list[i]) == of(list[j])) return &list[i];
  }
  return nullptr;
}

void check_comparison(const Comparison& comparison, const std::string& source) {
  if (comparison.variants.size() < 2)
    throw ConfigError("{}: variants: expected at least 2, found {}", source, comparison.variants.size());
  if (comparison.seeds.empty()) throw ConfigError("{}: seeds: expected at least 1, found none", source);
  for (const VariantConfig& variant : comparison.variants) {
    if (!is_plain_name(variant.name))
      throw ConfigError(R"({}: variants: expected names of letters, digits, "-", "_" and ".", found "{}")", source,
                        printable_line(variant.name, kLongestExcerpt));
  }
  if (const double* twice = find_twice(comparison.learning_rates, [](double rate) { return rate; }))
    throw ConfigError("{}: learning_rates: expected each once, found {} twice", source, *twice);
  for (const VariantConfig& variant : comparison.variants) {
    for (const double rate : comparison.learning_rates) {
      const std::string name = fmt::format("{}-{}", variant.name, rate);
      if (std::ranges::count(comparison.variants, name, &VariantConfig::name) > 0)
        throw ConfigError(
            R"({}: variants: expected another name than "{}": runs of "{}" at that learning rate have it)", source,
            name, variant.name);
    }
  }
  if (comparison.learning_rates.size() == 1)
    throw ConfigError("{}: learning_rates: expected at least 2 to choose from, found 1; set optimizer.lr instead",
                      source);
  const auto name_of = [](const VariantConfig& variant) { return variant.name; };
  if (const VariantConfig* twice = find_twice(comparison.variants, name_of))
    throw ConfigError(R"({}: variants: expected a different name for each, found "{}" twice)", source, twice->name);
  if (const int64_t* twice = find_twice(comparison.seeds, [](int64_t seed) { return seed; }))
    throw ConfigError("{}: seeds: expected each once, found {} twice", source, *twice);
}

Config config_of(const VariantConfig& variant, const ComparisonPlan& plan) try {
  std::vector<std::string> overrides = plan.set;
  overrides.insert(overrides.end(), variant.set.begin(), variant.set.end());
  return load_config(plan.base, overrides);
} catch (const ConfigError& error) {
  throw ConfigError(R"({}: variant "{}": {})", plan.source, variant.name, error.what());
}

void check_alike(const Comparison& comparison, const std::vector<Config>& configs, std::string_view source) {
  for (const ConfigDifference& difference : differences_of(configs)) {
    const bool is_of_all =
        std::ranges::any_of(kOfAll, [&](std::string_view group) { return difference.key.starts_with(group); });
    const bool is_objective = difference.key == kObjective;
    const bool may_differ = !is_objective && std::ranges::count(comparison.may_differ, difference.key) > 0;
    if ((!is_of_all && !is_objective) || may_differ) continue;
    const auto other = std::ranges::find_if(difference.values,
                                            [&](const std::string& value) { return value != difference.values[0]; });
    const auto index = static_cast<size_t>(other - difference.values.begin());
    throw ConfigError(R"({}: variant "{}": {}: expected {} as in variant "{}", found {}; {})", source,
                      comparison.variants[index].name, difference.key, difference.values[0],
                      comparison.variants[0].name, *other,
                      is_objective ? "their losses would not be comparable"
                                   : "list the key in may_differ if variants shall differ in it");
  }
}

double flops_of_step(const Config& config, int64_t vocab_size, const StageLengths& lengths) {
  const Transformer model(config.model, vocab_size);
  Parameters parameters = Parameters::planned(model.parameter_specs());
  const SegmentShape shape = training_shape(config, lengths, config.training.batch_size);
  const Flops flops = model.flops(parameters, use_of(config.model), shape);
  return flops.forward + flops.backward;
}

ComparedRun run_of(const std::string& variant, int64_t seed, std::optional<double> learning_rate,
                   const Config& config) {
  ComparedRun run{.variant = variant, .seed = seed, .learning_rate = learning_rate, .config = config};
  run.config.seed = seed;
  if (learning_rate) run.config.optimizer.lr = *learning_rate;
  return run;
}

// What a step at the n-th of a config's lengths takes of the budget.
double cost_of_step(const BudgetConfig& budget, const Config& config, int64_t vocab_size,
                    std::span<const double> seconds, size_t n) {
  const StageLengths lengths = all_lengths(config)[n];
  switch (budget.kind) {
    case BudgetKind::kTokens:
      return static_cast<double>(config.training.batch_size * lengths.tokens());
    case BudgetKind::kFlops:
      return flops_of_step(config, vocab_size, lengths);
    case BudgetKind::kSeconds:
      return seconds[n];
  }
  throw ContractError("budget: kind {}", static_cast<int>(budget.kind));
}

// What times the steps of a config at some of its lengths. Rates are constant and so small that nothing diverges: steps
// are timed, not learned from.
Config timing_of(const Config& config, const StageLengths& lengths, int64_t vocab_size) {
  constexpr double kRate = 1e-9;
  constexpr double kWork = 2e10;  // operations that are timed, a second or so
  constexpr int64_t kFewest = 40;
  constexpr int64_t kMost = 2000;
  constexpr int64_t kLines = 5;  // of the log, over them
  const double steps = std::ceil(kWork / flops_of_step(config, vocab_size, lengths) / kLines);
  const int64_t logged = std::clamp(static_cast<int64_t>(steps), kFewest / kLines, kMost / kLines);
  Config timing = config;
  timing.model = narrowed(config.model, lengths.window_share);
  timing.model.mem_len = lengths.mem_len;
  // It counts keys by the memory's length, which is another here; the work is about the same.
  if (lengths.mem_len < config.model.mem_len) timing.model.visibility.same_length = false;
  TrainingConfig& training = timing.training;
  training.tgt_len = lengths.tgt_len;
  training.segments_per_step = lengths.segments;
  training.stages.clear();
  training.log_interval = logged;
  training.max_step = (filling_steps(timing) / logged + 1 + kLines) * logged;
  timing.optimizer.lr = kRate;
  timing.schedule = {.kind = ScheduleKind::kConstant};
  timing.evaluation.interval = 0;
  timing.evaluation.tgt_len = EvaluationConfig().tgt_len;
  timing.evaluation.mem_len = EvaluationConfig().mem_len;
  timing.checkpoint.interval = 0;
  return timing;
}

// What the comparison itself says of every run would be set in vain.
void check_decided(const ComparisonPlan& plan, const VariantConfig& variant) {
  const auto refuse = [&](std::string_view key, std::string_view what, std::string_view does) {
    if (std::ranges::count(overridden_keys(plan.set), key) > 0)
      throw ConfigError("--set: {}: expected no such key, found one; {} in {} {} it", key, what, plan.source, does);
    if (std::ranges::count(overridden_keys(variant.set), key) > 0)
      throw ConfigError(R"({}: variant "{}": {}: expected no such key, found one; {} {} it)", plan.source, variant.name,
                        key, what, does);
  };
  refuse("seed", "seeds", "set");
  refuse("training.max_step", "budget", "sets");
  if (!plan.comparison.learning_rates.empty()) refuse("optimizer.lr", "learning_rates", "set");
}

// What is trained must also be measured at every length.
void check_measure(const MeasureConfig& measure, const Config& config, const std::string& source) {
  const EvaluationPoint trained{.tgt_len = config.training.tgt_len, .mem_len = config.model.mem_len};
  for (const EvaluationPoint& point : every_point(measure.tgt_len, measure.mem_len, trained)) {
    ModelUse use = use_of(config.model);
    use.mem_len = point.mem_len;
    check_use(config.model, use, point.tgt_len, source, "measure.mem_len");
  }
}

// Of every variant, with the steps that the budget pays for.
std::vector<Config> configs_of(const ComparisonPlan& plan) {
  const Comparison& comparison = plan.comparison;
  const bool is_timed = comparison.budget.kind != BudgetKind::kSeconds || !plan.seconds.empty();
  std::vector<Config> configs;
  for (size_t v = 0; v < comparison.variants.size(); ++v) {
    const VariantConfig& variant = comparison.variants[v];
    Config& config = configs.emplace_back(config_of(variant, plan));
    check_decided(plan, variant);
    const std::string source = fmt::format(R"({}: variant "{}")", plan.source, variant.name);
    check_combinations(config, source);
    check_measure(comparison.measure, config, source);
    if (!is_timed) continue;
    const std::span<const double> seconds = plan.seconds.empty() ? std::span<const double>() : plan.seconds[v];
    config.training.max_step = steps_within(comparison.budget, config, plan.vocab_size, seconds);
    if (config.training.max_step == 0)
      throw ConfigError(
          R"({}: budget.amount: expected at least {:.3g} {}, which one step of variant "{}" takes, found {:.3g})",
          plan.source, cost_of_step(comparison.budget, config, plan.vocab_size, seconds, 0),
          name_of_choice(comparison.budget.kind), variant.name, comparison.budget.amount);
    check_combinations(
        config, fmt::format("{}, of the {} steps that budget.amount pays for", source, config.training.max_step));
  }
  check_alike(comparison, configs, plan.source);
  return configs;
}

}  // namespace

void BudgetConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what all runs may spend the same amount of"});
  fields.required("amount", amount, {.meaning = "how much of it a run may spend", .above = 0});
}

void VariantConfig::describe(JsonFields& fields) {
  fields.required("name", name, {.meaning = R"(letters, digits, "-", "_" and ".")"});
  fields.optional("set", set, {.meaning = "values that replace the base's, each as KEY=VALUE of segue train --set"});
}

void MeasureConfig::describe(JsonFields& fields) {
  fields.optional("split", split, {.meaning = "split to score, once"});
  describe_lengths(fields, tgt_len, mem_len);
  describe_streams(fields, batch_size);
  fields.optional("max_tokens", max_tokens,
                  {.meaning = "score no more than so many; 0: the whole split", .unit = "tokens", .minimum = 0});
}

void Comparison::describe(JsonFields& fields) {
  fields.required("base", base,
                  {.meaning = "config file that the variants change; its path begins at the folder of this file"});
  fields.required("variants", variants,
                  {.meaning = "ways of training, two or more. The others are compared with the first, the baseline"});
  fields.required("budget", budget, {.meaning = "what every run may spend. It replaces training.max_step"});
  fields.optional("seeds", seeds, {.meaning = "seeds; every variant has a run from each", .minimum = 0});
  fields.optional(
      "learning_rates", learning_rates,
      {.meaning = "learning rates to try for every variant from the first seed. Its runs take the one with the lowest "
                  "loss on evaluation.split, or on marked data with the most right answers; default: optimizer.lr",
       .above = 0});
  fields.optional("may_differ", may_differ,
                  {.meaning = "keys of data and evaluation in which variants may differ, such as data.path"});
  fields.optional("measure", measure, {.meaning = "how to measure the trained models"});
}

Comparison load_comparison(const std::filesystem::path& path) {
  auto comparison = load_document<ConfigError, Comparison>(path, DocumentKind::kComparison);
  check_comparison(comparison, path.string());
  return comparison;
}

std::string ComparedRun::name() const {
  if (timed) return fmt::format("{}@{}-{}", variant, *timed + 1, seed);
  return learning_rate ? fmt::format("{}-{}-{}", variant, *learning_rate, seed) : fmt::format("{}-{}", variant, seed);
}

std::filesystem::path ComparedRun::directory() const {
  return std::filesystem::path(timed ? "timing" : "runs") / name();
}

int64_t filling_steps(const Config& timing) {
  const int64_t tgt_len = timing.training.tgt_len;
  return (use_of(timing.model).remembered_tokens() + tgt_len - 1) / tgt_len;
}

std::vector<ComparedRun> timings_of(const ComparisonPlan& plan) {
  std::vector<ComparedRun> runs;
  const std::vector<Config> configs = configs_of(plan);
  for (size_t v = 0; v < configs.size(); ++v) {
    const std::vector<StageLengths> lengths = all_lengths(configs[v]);
    for (size_t n = 0; n < lengths.size(); ++n) {
      ComparedRun& run = runs.emplace_back();
      run.variant = plan.comparison.variants[v].name;
      run.timed = n;
      run.config = timing_of(configs[v], lengths[n], plan.vocab_size);
      run.seed = run.config.seed;
      check_combinations(run.config,
                         fmt::format(R"({}: variant "{}", timed at its lengths {})", plan.source, run.variant, n + 1));
    }
  }
  return runs;
}

std::vector<ComparedRun> sweep_of(const ComparisonPlan& plan) {
  const Comparison& comparison = plan.comparison;
  std::vector<ComparedRun> runs;
  if (comparison.learning_rates.empty()) return runs;
  const std::vector<Config> configs = configs_of(plan);
  for (size_t v = 0; v < configs.size(); ++v) {
    for (const double rate : comparison.learning_rates)
      runs.push_back(run_of(comparison.variants[v].name, comparison.seeds.front(), rate, configs[v]));
  }
  return runs;
}

std::vector<ComparedRun> runs_of(const ComparisonPlan& plan, std::span<const double> learning_rates) {
  const std::vector<Config> configs = configs_of(plan);
  std::vector<ComparedRun> runs;
  for (const int64_t seed : plan.comparison.seeds) {
    for (size_t v = 0; v < configs.size(); ++v) {
      const auto rate = learning_rates.empty() ? std::nullopt : std::optional(learning_rates[v]);
      runs.push_back(run_of(plan.comparison.variants[v].name, seed, rate, configs[v]));
    }
  }
  return runs;
}

double flops_of_steps(const Config& config, int64_t vocab_size, int64_t steps) {
  double flops = 0.0;
  int64_t taken = 0;
  const auto take = [&](int64_t until_step) {
    if (until_step <= taken) return;
    flops += static_cast<double>(until_step - taken) * flops_of_step(config, vocab_size, lengths_at(config, taken + 1));
    taken = until_step;
  };
  for (const StageConfig& stage : config.training.stages) take(std::min(steps, stage.until_step));
  take(steps);
  return flops;
}

int64_t steps_within(const BudgetConfig& budget, const Config& config, int64_t vocab_size,
                     std::span<const double> seconds) {
  const std::vector<StageConfig>& stages = config.training.stages;
  int64_t steps = 0;
  double left = budget.amount;
  for (size_t n = 0; n <= stages.size(); ++n) {
    const double cost = cost_of_step(budget, config, vocab_size, seconds, n);
    const double paid = std::floor(left / cost * (1.0 + 1e-12));
    const int64_t until_step = n < stages.size() ? stages[n].until_step : static_cast<int64_t>(kMostSteps);
    const auto most = static_cast<double>(until_step - steps);
    const double taken = std::min(paid, most);
    steps += static_cast<int64_t>(taken);
    left -= taken * cost;
    if (taken < most) return steps;
  }
  return steps;
}

}  // namespace segue
