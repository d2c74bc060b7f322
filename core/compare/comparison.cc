// The file, its variants as configs, and the steps that the budget pays for.
#include "core/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "base/json_text.h"
#include "core/config/bounds.h"
#include "core/model/transformer.h"
#include "core/train/scored_targets.h"

namespace segue {

namespace {

// Groups of keys that say what is learned from and how runs are measured, not what is trained.
constexpr std::array<std::string_view, 2> kOfAll{"data.", "evaluation."};
constexpr size_t kLongestExcerpt = 60;  // of a name, in errors

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
  if (comparison.learning_rates.size() == 1)
    throw ConfigError("{}: learning_rates: expected 2 or more to choose from, found 1; set optimizer.lr", source);
  const auto name_of = [](const VariantConfig& variant) { return variant.name; };
  if (const VariantConfig* twice = find_twice(comparison.variants, name_of))
    throw ConfigError(R"({}: variants: expected a name for each, found "{}" twice)", source, twice->name);
  if (const int64_t* twice = find_twice(comparison.seeds, [](int64_t seed) { return seed; }))
    throw ConfigError("{}: seeds: expected each once, found {} twice", source, *twice);
}

Config config_of(const VariantConfig& variant, const std::filesystem::path& base, std::string_view source) try {
  return load_config(base, variant.set);
} catch (const ConfigError& error) {
  throw ConfigError(R"({}: variant "{}": {})", source, variant.name, error.what());
}

void check_alike(const Comparison& comparison, const std::vector<Config>& configs, std::string_view source) {
  for (const ConfigDifference& difference : differences_of(configs)) {
    const bool is_of_all =
        std::ranges::any_of(kOfAll, [&](std::string_view group) { return difference.key.starts_with(group); });
    if (!is_of_all || std::ranges::count(comparison.may_differ, difference.key) > 0) continue;
    const auto other = std::ranges::find_if(difference.values,
                                            [&](const std::string& value) { return value != difference.values[0]; });
    const auto index = static_cast<size_t>(other - difference.values.begin());
    throw ConfigError(
        R"({}: variant "{}": {}: expected {} as of "{}", or the comparison would not be of the variants alone (may_differ )"
        "allows it); found {}",
        source, comparison.variants[index].name, difference.key, difference.values[0], comparison.variants[0].name,
        *other);
  }
}

double flops_of_step(const Config& config, int64_t vocab_size, const StageLengths& lengths) {
  const Transformer model(config.model, vocab_size);
  Parameters parameters(model.parameter_specs());
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

// What a step of these lengths takes of the budget.
double cost_of_step(const BudgetConfig& budget, const Config& config, int64_t vocab_size, const StageLengths& lengths) {
  const int64_t streams = config.training.batch_size;
  if (budget.kind == BudgetKind::kTokens) return static_cast<double>(streams * lengths.tgt_len);
  return flops_of_step(config, vocab_size, lengths);
}

void check_learning_rate(const Comparison& comparison, const VariantConfig& variant, std::string_view source) {
  if (comparison.learning_rates.empty()) return;
  for (const std::string& key : overridden_keys(variant.set)) {
    if (key == "optimizer.lr")
      throw ConfigError(R"({}: variant "{}": optimizer.lr: expected none, as learning_rates are tried; found one)",
                        source, variant.name);
  }
}

// Of every variant, with the steps that the budget pays for.
std::vector<Config> configs_of(const Comparison& comparison, const std::filesystem::path& base, int64_t vocab_size,
                               std::string_view source) {
  std::vector<Config> configs;
  for (const VariantConfig& variant : comparison.variants) {
    check_learning_rate(comparison, variant, source);
    Config& config = configs.emplace_back(config_of(variant, base, source));
    config.training.max_step = steps_within(comparison.budget, config, vocab_size);
    if (config.training.max_step == 0)
      throw ConfigError(
          R"({}: budget.amount: expected what a step of variant "{}" takes, {:.3g} {}, or more; found {:.3g})", source,
          variant.name, cost_of_step(comparison.budget, config, vocab_size, lengths_at(config, 1)),
          name_of_choice(comparison.budget.kind), comparison.budget.amount);
    check_combinations(config, fmt::format(R"({}: variant "{}")", source, variant.name));
  }
  check_alike(comparison, configs, source);
  return configs;
}

}  // namespace

void BudgetConfig::describe(JsonFields& fields) {
  fields.kind(kind, {.meaning = "what every run may spend the same of"});
  fields.required("amount", amount, {.meaning = "of it", .above = 0});
}

void VariantConfig::describe(JsonFields& fields) {
  fields.required("name", name, {.meaning = R"(letters, digits, "-", "_" and ".")"});
  fields.optional("set", set, {.meaning = "KEY=VALUE in place of what the base says, as of segue train --set"});
}

void MeasureConfig::describe(JsonFields& fields) {
  fields.optional("split", split, {.meaning = "split that is scored, once"});
  fields.optional("tgt_len", tgt_len,
                  {.meaning = "segment lengths, a result for each; none: as trained",
                   .unit = "tokens",
                   .minimum = 1,
                   .maximum = kLongest});
  fields.optional("mem_len", mem_len,
                  {.meaning = "memory lengths, a result for each; none: as trained",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kLongest});
  fields.optional("batch_size", batch_size,
                  {.meaning = "streams read side by side", .minimum = 1, .maximum = kMostStreams});
  fields.optional("max_tokens", max_tokens,
                  {.meaning = "score no more than so many; 0: the whole split", .unit = "tokens", .minimum = 0});
}

void Comparison::describe(JsonFields& fields) {
  fields.required("base", base, {.meaning = "config file that the variants change, from the folder of this file"});
  fields.required("variants", variants,
                  {.meaning = "ways of training, two or more; the first is what the others are compared with"});
  fields.required("budget", budget, {.meaning = "what every run may spend, in place of training.max_step"});
  fields.optional("seeds", seeds, {.meaning = "a run of every variant from each", .minimum = 0});
  fields.optional("learning_rates", learning_rates,
                  {.meaning = "tried for every variant from the first seed, of which it takes the one with the lowest "
                              "loss on evaluation.split; none: optimizer.lr",
                   .above = 0});
  fields.optional("may_differ", may_differ,
                  {.meaning = "keys of data and evaluation in which variants may differ, such as data.path"});
  fields.optional("measure", measure, {.meaning = "what the trained models are measured by"});
}

Comparison load_comparison(const std::filesystem::path& path) {
  const std::string source = path.string();
  auto comparison = read_fields<ConfigError, Comparison>(parse_json<ConfigError>(read_file(path), source), source);
  check_comparison(comparison, source);
  return comparison;
}

std::string ComparedRun::name() const {
  return learning_rate ? fmt::format("{}-{}-{}", variant, *learning_rate, seed) : fmt::format("{}-{}", variant, seed);
}

std::filesystem::path ComparedRun::directory() const { return std::filesystem::path("runs") / name(); }

std::vector<ComparedRun> sweep_of(const Comparison& comparison, const std::filesystem::path& base, int64_t vocab_size,
                                  std::string_view source) {
  std::vector<ComparedRun> runs;
  if (comparison.learning_rates.empty()) return runs;
  const std::vector<Config> configs = configs_of(comparison, base, vocab_size, source);
  for (size_t v = 0; v < configs.size(); ++v) {
    for (const double rate : comparison.learning_rates)
      runs.push_back(run_of(comparison.variants[v].name, comparison.seeds.front(), rate, configs[v]));
  }
  return runs;
}

std::vector<ComparedRun> runs_of(const Comparison& comparison, const std::filesystem::path& base, int64_t vocab_size,
                                 std::string_view source, std::span<const double> learning_rates) {
  const std::vector<Config> configs = configs_of(comparison, base, vocab_size, source);
  std::vector<ComparedRun> runs;
  for (const int64_t seed : comparison.seeds) {
    for (size_t v = 0; v < configs.size(); ++v) {
      const auto rate = learning_rates.empty() ? std::nullopt : std::optional(learning_rates[v]);
      runs.push_back(run_of(comparison.variants[v].name, seed, rate, configs[v]));
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

int64_t steps_within(const BudgetConfig& budget, const Config& config, int64_t vocab_size) {
  int64_t steps = 0;
  double left = budget.amount;
  const auto spend = [&](int64_t until_step) {
    const double cost = cost_of_step(budget, config, vocab_size, lengths_at(config, steps + 1));
    const double paid = std::floor(left / cost * (1.0 + 1e-12));
    const auto most = static_cast<double>(until_step - steps);
    const double taken = std::min(paid, most);
    steps += static_cast<int64_t>(taken);
    left -= taken * cost;
    return taken == most;
  };
  for (const StageConfig& stage : config.training.stages)
    if (!spend(stage.until_step)) return steps;
  spend(static_cast<int64_t>(kMostSteps));
  return steps;
}

}  // namespace segue
