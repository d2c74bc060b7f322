// What a comparison has found so far, over the seeds from which all variants have been trained and measured. It holds
// every variant's losses, the right answers of marked data, the differences between variants, and their costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/compare/comparison.h"
#include "core/compare/swept_rates.h"
#include "core/compare/variant_costs.h"
#include "core/compare/variant_measures.h"
#include "core/evaluation/loss_units.h"
#include "core/model/distance_biases.h"
#include "core/report/run_data.h"

namespace segue {

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
  std::string bits_name() const;              // "bits/byte" where bytes are known, or "bits/token", or "bits"
  std::vector<MeasureKind> measures() const;  // what is known of all, that which tells most first
};

// Reads the runs in the directory of a comparison; `rates` of swept_rates. Throws DataError naming the file that is
// broken, or two files that are not of the same tokens. Without a seed from which all variants have ended, the variants
// are empty.
ComparisonResult read_result(const ComparisonPlan& plan, const std::vector<ComparedRun>& runs,
                             const std::vector<SweptRate>& rates, const std::filesystem::path& directory);

}  // namespace segue
