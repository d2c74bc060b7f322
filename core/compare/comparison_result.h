// What a comparison found so far: every variant's losses, and of marked data its right answers, over the seeds from
// which all of them have been trained and measured, how far they lie apart, and what they cost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.h"
#include "core/compare/comparison.h"
#include "core/evaluation/loss_units.h"
#include "core/evaluation/seed_differences.h"
#include "core/model/distance_biases.h"
#include "core/report/run_data.h"

namespace segue {

// The name of every run's evaluation.
inline constexpr const char* kComparedEvaluation = "compare";
// And of those in which the learning rate is tried.
inline constexpr const char* kSweptEvaluation = "sweep";

// In the directory of a run whose loss became no finite number, in training or when it was measured: the run has ended.
inline constexpr const char* kDivergedFile = "diverged.json";

// What a variant took, on average over the seeds from which it was measured; what only they tell is 0 without any.
struct VariantCost {
  int64_t steps = 0;
  int64_t parameters = 0;
  double tokens = 0.0;
  double flops = 0.0;
  double seconds = 0.0;                    // in steps
  double trained_per_second = 0.0;         // tokens
  double evaluated_per_second = 0.0;       // tokens, at the first lengths
  int64_t memory_bytes = 0;                // that a stream keeps from segment to segment
  std::optional<int64_t> peak_bytes = {};  // of memory, in training; none where it was not seen
};

// What variants are compared by.
enum class MeasureKind : uint8_t {
  kLoss,      // nats per byte where bytes are known, else per token: lower is better
  kAccuracy,  // the share of right answers of marked data: higher is better
};

// One of them, of a variant at one of the measured lengths.
struct VariantMeasure {
  LossPer per = LossPer::kToken;                     // of losses: what they are over
  LossMean values = {};                              // averaged over the seeds that did not diverge
  std::vector<std::optional<double>> of_seeds = {};  // means; none where training diverged
  std::optional<SeedDifference> difference = {};  // from the first variant, which has none; none without seeds of both
  double mean() const { return values.mean(per); }
  std::optional<double> confidence95() const { return values.confidence95(per); }
};

// A variant at one of the measured lengths.
struct VariantPoint {
  size_t number = 0;  // of these lengths
  int64_t tgt_len = 0;
  int64_t mem_len = 0;
  int64_t memory_bytes = 0;                            // that a stream keeps with this memory, stored as in training
  VariantMeasure loss = {};                            // nats per token
  std::optional<VariantMeasure> loss_per_byte = {};    // nats, where bytes are known
  std::optional<VariantMeasure> accuracy = {};         // of marked data
  const VariantMeasure* find(MeasureKind kind) const;  // null: not known
};

// How a variant came to its learning rate.
struct SweptRate {
  struct Tried {
    double learning_rate = 0.0;
    std::optional<double> loss = {};           // on the validation split, nats per token; none: diverged
    std::optional<double> bits_per_byte = {};  // there, where bytes are known
    std::optional<double> accuracy = {};       // there, of marked data
  };
  std::vector<Tried> tried = {};  // ascending
  size_t best = 0;                // the lowest rate when all diverged
  // What the best one has most of, as published comparisons on marked data choose it: right answers, and the lower loss
  // where these are as many; on other data the lowest loss.
  MeasureKind chosen_by = MeasureKind::kLoss;
  double flops = 0.0;  // of all that were tried
  double learning_rate() const { return tried[best].learning_rate; }
  // A better one may lie beyond.
  bool is_at_end() const { return best == 0 || best + 1 == tried.size(); }
  // Of two, each is at an end, which says nothing of the variant.
  bool tells_ends() const { return tried.size() > 2; }
};

struct ComparedVariant {
  std::string name = {};
  std::vector<std::string> set = {};
  std::optional<SweptRate> rate = {};
  Config config = {};  // of its first run
  VariantCost cost = {};
  std::vector<int64_t> diverged = {};     // seeds
  std::vector<VariantPoint> points = {};  // one for each of the measured lengths; none when all seeds diverged
  // That of the lengths it was trained with, where every variant was measured with its own and these are not the same
  // for all: its difference is from the first variant as that was trained.
  std::optional<VariantPoint> as_trained = {};
  std::vector<report::RunData> runs = {};  // of the seeds that did not diverge
  DistanceBiases biases = {};              // of the first of these runs; none when its checkpoints are gone
};

struct ComparisonResult {
  std::string split = {};
  std::vector<std::string> set = {};          // overrides of the base, of all variants
  std::string unit = {};                      // what a token is
  double tokens_per_byte = 0.0;               // of the scored tokens; 0: not known
  int64_t tokens = 0;                         // scored, the same of all
  std::optional<UnknownTokens> unknown = {};  // of these, where the vocabulary has an unknown token
  int64_t answers = 0;                        // of marked data
  int64_t vocab_size = 0;
  BudgetConfig budget = {};
  std::vector<int64_t> seeds = {};  // from which all variants have ended, measured or diverged
  int64_t runs = 0;                 // that the comparison asks for
  int64_t measured_runs = 0;
  int64_t diverged_runs = 0;
  std::vector<ComparedVariant> variants = {};

  size_t points() const;  // measured lengths; 0 when all runs diverged
  bool is_per_byte() const { return tokens_per_byte > 0.0; }
  // Of a loss in nats per token that is known per byte too, or not.
  double bits(double loss, const std::optional<double>& bits_per_byte) const;
  std::string bits_name() const;              // "bits/byte" where bytes are known, or "bits/token"
  std::vector<MeasureKind> measures() const;  // what is known of all, that which tells most first
};

// How a measure is told to people.
struct MeasureUnits {
  std::string name = {};  // "bits/byte", or "% right"
  double scale = 1.0;     // of one nat, or of all answers
  int decimals = 0;
  bool is_higher_better = false;
};
MeasureUnits units_of(const ComparisonResult& result, MeasureKind kind);

inline constexpr const char* kAsTrained = "as-trained";

// What is set beside one another of all variants: each as it was trained, or all at one of the measured lengths.
struct PointSet {
  std::string name = {};                         // kAsTrained, or "" and "1", "2", ... of the measured lengths
  std::string title = {};                        // "each as it was trained", or none
  std::vector<const VariantPoint*> points = {};  // by variant; null when all its seeds diverged
  const VariantMeasure* find(size_t variant, MeasureKind kind) const;  // null: not known
};

// First that of each as it was trained, if there is one.
std::vector<PointSet> point_sets(const ComparisonResult& result);

// The title of a table of it: "Loss in bits/byte, each as it was trained", "Right answers in %, memory 24".
std::string title_of(const ComparisonResult& result, const PointSet& set, MeasureKind kind);

inline constexpr const char* kCostsTitle = "Costs of one run";
// What learning rates were chosen by: a variant all of whose rates diverged says nothing of it.
MeasureKind chosen_by(const ComparisonResult& result);

std::string rates_title(const ComparisonResult& result);  // what learning rates were chosen by

// What was found of a run at one of the measured lengths.
const report::EvaluatedLength& measured_at(const report::RunData& run, size_t point);

bool is_measured(const std::filesystem::path& directory, const ComparedRun& run,
                 std::string_view evaluation = kComparedEvaluation);

bool has_diverged(const std::filesystem::path& directory, const ComparedRun& run);

// Whether nothing is left to do for a run.
bool has_ended(const std::filesystem::path& directory, const ComparedRun& run,
               std::string_view evaluation = kComparedEvaluation);

// Whether a short training that times steps has ended.
bool is_timed(const std::filesystem::path& directory, const ComparedRun& run);

// What the short trainings (timings_of) found; empty while one of them has not ended.
StepSeconds timed_seconds(const ComparisonPlan& plan, const std::vector<ComparedRun>& timings,
                          const std::filesystem::path& directory);

// Of every variant, from its runs of the sweep (sweep_of); empty while one of them has not ended.
std::vector<SweptRate> swept_rates(const ComparisonPlan& plan, const std::vector<ComparedRun>& sweep,
                                   const std::filesystem::path& directory);

// Reads the runs in the directory of a comparison; `rates` of swept_rates. Throws DataError naming the file that is
// broken, or two files that are not of the same tokens. Without a seed from which all variants have ended, the variants
// are empty.
ComparisonResult read_result(const ComparisonPlan& plan, const std::vector<ComparedRun>& runs,
                             const std::vector<SweptRate>& rates, const std::filesystem::path& directory);

// {"format": "segue-comparison", "version": 1, "split", "unit", "tokens_per_byte", "tokens", of these where there is
//  an unknown token "unknown_tokens" and "unknown_share", "answers": of marked data, "seeds", "budget",
//  "runs", "measured_runs", "diverged_runs", "variants": [{"name", "set", "diverged": seeds, "cost": {...},
//    "sweep": null or {"learning_rate", "chosen_by": "loss" or "accuracy", "is_at_end", "flops", "tried":
//    [{"learning_rate", "loss": null if it diverged, "accuracy": of marked data}]}, "losses": of each of the measured
//    lengths, none when all seeds diverged, [{"tgt_len", "mem_len", "memory_bytes_per_stream", the losses of base units
//    (loss_units.h), "per_byte": null where bytes are not known, else "bits" with "confidence95", "seeds" and
//    "difference" as here, all in bits per byte and from the regions' bytes, "confidence95", "seeds": nats per token,
//    null where it diverged, "difference": null of the first variant and without seeds of both, else {"loss", "seeds":
//    how many, "confidence95", "error_of_text", "error_of_seeds", "p", "p_adjusted", "is_significant"}, "accuracy": of
//    marked data}], "as_trained": null, or likewise of the lengths of its training, where they differ between
//    variants}]}
//   accuracy: {"answers": how many, "accuracy": the share of them that was right, "confidence95", "seeds",
//   "difference":
//    likewise, with "accuracy" in place of "loss", "by_examples": of every run of examples [{"tokens", "traits",
//    "answers", "accuracy": the mean over seeds, "seeds"}], "by_distance": likewise of "from" to "to" tokens}
// Losses, their differences and errors are in nats per token but for "per_byte"; what is not known is null.
OrderedJson result_json(const ComparisonResult& result);

// What a learning rate that was tried found, in the units of the measure; none: diverged, or not known.
std::optional<double> found_at(const ComparisonResult& result, const SweptRate::Tried& tried, MeasureKind kind);

// "94.47, 96.50, 10.53": of each seed that did not diverge.
std::string text_of_seeds(const VariantMeasure& measure, const MeasureUnits& units);

// "better", "worse", "not significant", or why that cannot be told.
std::string verdict_of(const SeedDifference& difference, const MeasureUnits& units);

// "2 of 3 seeds diverged"; empty when none did.
std::string divergence_of(const ComparisonResult& result, const ComparedVariant& variant);

// For people: a table for each of the measured lengths, of right answers in per cent and of losses in bits.
std::string describe_result(const ComparisonResult& result);

// The same tables for other programs, by the names of their files, with the units in their heads.
struct CsvFile {
  std::string name = {};  // "measures.csv", "costs.csv", "learning_rates.csv"
  std::string text = {};
};
std::vector<CsvFile> result_csv(const ComparisonResult& result);

}  // namespace segue
