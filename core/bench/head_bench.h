// Times the adaptive softmax: projections, loss and gradient.
#pragma once

#include <cstdint>
#include <vector>

#include "core/bench/report.h"
#include "core/bench/workbench.h"

namespace segue {

struct HeadShape {
  int64_t vocabulary = 267735;
  std::vector<int64_t> cutoffs = {20000, 40000, 200000};
  int64_t div_val = 4;
  int64_t d_model = 1024;
  int64_t tokens = 8192;
  void describe(JsonFields& fields);
};

struct HeadBench {
  std::vector<Measurement> measurements;  // loss; loss and gradient unless left out
  std::vector<int64_t> cluster_tokens;    // how many targets each cluster has
  int64_t scratch_bytes = 0;              // what the measured calls need beside weights, hidden states and targets
  int64_t logits_bytes = 0;               // what the logits of all tokens and words would take
};

// The first cluster has no projection. Targets are drawn as words of a text are, the k-th of them with a probability
// close to 1 / k. Throws ConfigError for cutoffs that do not divide the vocabulary.
HeadBench bench_head(Workbench& workbench, const Effort& effort, const HeadShape& shape, bool loss_only);

// The target of a token for which `uniform` was drawn from [0, 1).
int32_t zipf_word(double uniform, int64_t vocabulary);

}  // namespace segue
