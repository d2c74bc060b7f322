// A comparison as its file describes it, and the runs that it takes. Its variants of one experiment are trained from
// the same seeds on the same text within the same budget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"

namespace segue {

enum class BudgetKind : uint8_t { kTokens, kFlops, kSeconds };
inline const auto& table_of(BudgetKind) {
  using enum BudgetKind;
  static constexpr ChoiceTable<BudgetKind, 3> kTable(
      {{kTokens, "tokens", "the same number of tokens"},
       {kFlops, "flops",
        "the same number of operations, forward and backward, by the formulas of each variant's model"},
       {kSeconds, "seconds", "the same seconds in steps, by the step time that is measured first"}});
  return kTable;
}

// What each run may spend.
struct BudgetConfig {
  BudgetKind kind = BudgetKind::kTokens;
  double amount = 0.0;
  void describe(JsonFields& fields);
};

struct VariantConfig {
  std::string name = {};
  std::vector<std::string> set = {};  // overrides of the base, such as "model.position.kind=alibi"
  void describe(JsonFields& fields);
};

// What the trained models are measured by.
struct MeasureConfig {
  std::string split = "test";
  std::vector<int64_t> tgt_len = {};  // empty: the length of training
  std::vector<int64_t> mem_len = {};  // likewise
  int64_t batch_size = 8;
  int64_t max_tokens = 0;  // 0: the whole split
  void describe(JsonFields& fields);
};

struct Comparison {
  std::string base = {};                     // config file, from the folder of the comparison's
  std::vector<VariantConfig> variants = {};  // the first is what the others are compared with
  BudgetConfig budget = {};
  std::vector<int64_t> seeds = {1, 2, 3};
  std::vector<double> learning_rates = {};   // swept for each variant; none: what its config says
  std::vector<std::string> may_differ = {};  // keys of what variants otherwise have in common
  MeasureConfig measure = {};
  void describe(JsonFields& fields);
};

// Reads a file. Throws ConfigError naming file and key, and FileError.
Comparison load_comparison(const std::filesystem::path& path);

// Seconds that a step of each variant takes, for each of its lengths: those of its stages, then the last ones.
using StepSeconds = std::vector<std::vector<double>>;

// One training of a comparison.
struct ComparedRun {
  std::string variant;
  int64_t seed = 0;
  std::optional<double> learning_rate;  // where it is swept
  Config config;
  std::optional<size_t> timed = {};  // of a short run that times steps: at which of the variant's lengths
  std::string name() const;  // "alibi-1", "alibi-0.001-1" where learning rates are swept, "alibi@1-1" of timings
  std::filesystem::path directory() const;  // within that of the comparison
};

// What a comparison's runs follow from.
struct ComparisonPlan {
  Comparison comparison = {};
  std::filesystem::path base = {};
  std::vector<std::string> set = {};  // overrides of the base, for all variants
  std::string source = {};            // what errors call the comparison's file
  int64_t vocab_size = 0;             // the dataset's
  StepSeconds seconds = {};  // of a budget of seconds; empty: not timed yet, and runs have the steps of their configs
};

// A short training for every entry of StepSeconds, variant by variant, in their order: as many steps as fill the
// memory, then those that are timed, by which the log has a line. Throws as runs_of does.
std::vector<ComparedRun> timings_of(const ComparisonPlan& plan);

// The steps of a timing that its memory takes to fill.
int64_t filling_steps(const Config& timing);

// Those that find each variant's learning rate, from the first seed, by variant; none when they are not swept. Throws
// as runs_of does.
std::vector<ComparedRun> sweep_of(const ComparisonPlan& plan);

// All that are compared, seed by seed, so that what has been trained can be compared at any time. `learning_rates`
// has what the sweep found for every variant, so that those of the first seed are of the sweep; it is empty when there
// was none, or when none is known yet. Throws ConfigError naming file, variant and key when a
// variant is no config, when one differs from the first in what must be the same of all (data and evaluation) and
// `may_differ` does not name it, or in its objective, or when a step takes more than the budget.
std::vector<ComparedRun> runs_of(const ComparisonPlan& plan, std::span<const double> learning_rates = {});

// Operations of its first `steps` steps, forward and backward, by the formulas of the model.
double flops_of_steps(const Config& config, int64_t vocab_size, int64_t steps);

// Steps that a run may take; `seconds` of a step at each of its lengths, for a budget of seconds.
int64_t steps_within(const BudgetConfig& budget, const Config& config, int64_t vocab_size,
                     std::span<const double> seconds = {});

}  // namespace segue
