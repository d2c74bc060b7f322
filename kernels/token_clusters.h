// Token clusters: of every target, the cluster of the vocabulary that holds it, as an adaptive softmax needs it
// (Grave et al. 2017, arXiv 1609.04309).
//
// With n cutoffs, cluster 0 has the tokens below the first and one gate for each tail i = 1 .. n, the tokens
// [cutoffs[i-1], cutoffs[i]), the last one to the vocabulary's end.
// columns[0, r] = targets[r] below cutoffs[0], otherwise cutoffs[0] + the gate of the target's tail
// columns[i, r] = targets[r] - cutoffs[i-1] in its tail, -1 in other tails
// rows[i, 0 .. counts[i]) = the r that belong to cluster i, in increasing order; all of them belong to cluster 0
// A target of -1 is not scored: it belongs to no cluster, and its columns are all -1.
// Deterministic. On a GPU nothing waits for the host.
#pragma once

#include <cstdint>
#include <span>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

constexpr int64_t kMaxCutoffs = 64;

// The gate of tail i: i - 1, or n - i.
enum class GateOrder : uint8_t { kAscending, kReversed };

struct TokenClusters {
  ConstTensorView targets;  // [R] int32 in, each in [-1, vocabulary); ContractError names the first that is not
  std::span<const int64_t> cutoffs;  // [n] of the host, strictly increasing inside (0, vocabulary); n <= kMaxCutoffs
  int64_t vocabulary = 0;
  GateOrder gates = GateOrder::kAscending;
  TensorView columns;  // [n + 1, R] int32 out, overwritten
  TensorView rows;     // [n + 1, R] int32 out; what lies behind a cluster's rows is left as it was
  TensorView counts;   // [n + 1] int32 out, overwritten
};
void token_clusters(Queue& queue, const TokenClusters& args);

}  // namespace segue::kernels
