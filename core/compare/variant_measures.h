// The numbers by which variants are compared: means over seeds, and their differences from the first variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/evaluation/loss_statistics.h"
#include "core/evaluation/seed_differences.h"

namespace segue {

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

// What all variants have of a measure, by variant and seed; none where some run does not tell it.
struct MeasuredWays {
  std::vector<LossesOfSeeds> losses = {};
  std::vector<LossesOfSeeds> answers = {};
};

// Over its seeds, without a difference.
VariantMeasure measure_of(const LossesOfSeeds& way, LossPer per = LossPer::kToken);

// From the first variant. `points`: of all variants, null where all seeds diverged.
void add_differences(const std::vector<VariantPoint*>& points, const MeasuredWays& ways);

}  // namespace segue
