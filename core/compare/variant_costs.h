// What each variant of a comparison costs, as the mean over its runs, and how long a step takes where it was timed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/compare/comparison.h"
#include "core/report/run_data.h"

namespace segue {

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

// All but the peak, of a variant with this config and the runs that did not diverge.
VariantCost cost_of(const Config& config, const std::vector<report::RunData>& runs, int64_t vocab_size);

// That a stream keeps from segment to segment with so long a memory, stored as in training.
int64_t memory_bytes_of(const Config& config, int64_t mem_len);

// The most memory that training of a run was seen to hold; none where it was not seen.
std::optional<int64_t> peak_bytes_of(const std::filesystem::path& directory, const ComparedRun& run);

// What the short trainings (timings_of) found; empty while one of them has not ended.
StepSeconds timed_seconds(const ComparisonPlan& plan, const std::vector<ComparedRun>& timings,
                          const std::filesystem::path& directory);

}  // namespace segue
