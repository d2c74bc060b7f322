// Token clusters: what the arguments must be.
#include "kernels/token_clusters.h"

#include "kernels/check.h"
#include "kernels/cross_entropy.h"
#include "kernels/operations.h"

namespace segue::kernels {

namespace {

void check_cutoffs(const Contract& contract, std::span<const int64_t> cutoffs, int64_t vocabulary) {
  const auto count = static_cast<int64_t>(cutoffs.size());
  contract.number("cutoffs", static_cast<double>(count), count <= kMaxCutoffs, "at most {} of them", kMaxCutoffs);
  int64_t before = 0;
  for (size_t i = 0; i < cutoffs.size(); ++i) {
    contract.number("cutoffs", static_cast<double>(cutoffs[i]), cutoffs[i] > before && cutoffs[i] < vocabulary,
                    "number {} to be more than {} and less than the vocabulary of {}", i, before, vocabulary);
    before = cutoffs[i];
  }
}

}  // namespace

void token_clusters(Queue& queue, const TokenClusters& args) {
  const Contract contract("token_clusters");
  check_cutoffs(contract, args.cutoffs, args.vocabulary);
  contract.indices("targets", args.targets, args.vocabulary, queue.device(), kNotScored);
  const auto clusters = static_cast<int64_t>(args.cutoffs.size()) + 1;
  const int64_t targets = args.targets.shape[0];
  contract.tensor("columns", args.columns, DType::kInt32, {clusters, targets});
  contract.tensor("rows", args.rows, DType::kInt32, {clusters, targets});
  contract.tensor("counts", args.counts, DType::kInt32, {clusters});
  for (const TensorView& out : {args.columns, args.rows, args.counts})
    contract.disjoint("targets", args.targets, "the outputs", out);
  contract.disjoint("columns", args.columns, "rows", args.rows);
  contract.disjoint("columns", args.columns, "counts", args.counts);
  contract.disjoint("rows", args.rows, "counts", args.counts);
  queue.operations().token_clusters(queue, args);
}

}  // namespace segue::kernels
