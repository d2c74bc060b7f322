// Chooses a learning rate for each variant of a comparison, from those that were tried.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/compare/comparison.h"
#include "core/compare/variant_measures.h"

namespace segue {

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

// Sets `best` and `chosen_by` from what was tried, one rate at least, ascending.
void choose_best(SweptRate& rate);

// Of every variant, from its runs of the sweep (sweep_of); empty while one of them has not ended.
std::vector<SweptRate> swept_rates(const ComparisonPlan& plan, const std::vector<ComparedRun>& sweep,
                                   const std::filesystem::path& directory);

}  // namespace segue
