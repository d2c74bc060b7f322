// The adaptive softmax as an operation of the tape, over the kernels of kernels/token_clusters.h and
// kernels/linear_cross_entropy.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

struct AdaptiveSoftmaxCluster {
  Value x;                // [B, T, E]
  Parameter table, bias;  // [words, E], [words]
};

struct AdaptiveSoftmaxInputs {
  std::vector<AdaptiveSoftmaxCluster> clusters = {};  // the first: the frequent words
  Parameter cluster_weight = {}, cluster_bias = {};   // [n, E], [n]: the first cluster's columns for the n others
  Slot targets = {};                                  // [B, T], -1 where not scored
  std::vector<int64_t> cutoffs = {};                  // [n]: first token of each of the others
  bool reversed = true;                               // the last column stands for the first of them
};

// The loss of every token in nats, [B*T], 0 where not scored, kept after a replay. The gradient begins with
// ReplayInfo::loss_scale, and is computed with the loss, so that no logits are kept.
Slot adaptive_softmax(Tape& tape, const AdaptiveSoftmaxInputs& inputs);

}  // namespace segue
