// A block for each cluster walks over the targets, as many at a time as it has threads, and counts its own in their
// order.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kClusterThreads = 256;
constexpr int kClusterWarps = kClusterThreads / simt::kWarp;

struct ClusterArguments {
  const int32_t* targets;
  int count;
  int tails;
  bool reversed;
  int32_t cutoffs[kMaxCutoffs];
  int32_t* columns;
  int32_t* rows;
  int32_t* counts;

  // In cluster 0 every target has one: its own, which is -1 where it is not scored, or a gate.
  __device__ __forceinline__ int32_t column_in_first(int32_t target) const {
    int tail = 0;
    while (tail < tails && target >= cutoffs[tail]) ++tail;
    if (tail == 0) return target;
    return cutoffs[0] + (reversed ? tails - tail : tail - 1);
  }
  // -1 where the tail has not the target.
  __device__ __forceinline__ int32_t column_in_tail(int tail, int32_t target) const {
    const bool before_end = tail == tails || target < cutoffs[tail];
    return before_end && target >= cutoffs[tail - 1] ? target - cutoffs[tail - 1] : -1;
  }
};

// How many threads before this one are members, and of the block altogether.
struct Rank {
  int before;
  int total;
};

__device__ __forceinline__ Rank rank_of(bool member) {
  auto& of_warps = simt::static_shared<int[kClusterWarps], 0>();
  const unsigned members = simt::ballot(member);
  simt::sync_block();  // threads may still read the targets before
  if (simt::lane() == 0) of_warps[simt::warp()] = __builtin_popcount(members);
  simt::sync_block();
  Rank rank{__builtin_popcount(members & ((1U << simt::lane()) - 1U)), 0};
  for (int w = 0; w < kClusterWarps; ++w) {
    if (w < simt::warp()) rank.before += of_warps[w];
    rank.total += of_warps[w];
  }
  return rank;
}

__global__ void token_clusters_kernel(ClusterArguments args) {
  const int cluster = simt::block();
  int32_t* columns = args.columns + int64_t{cluster} * args.count;
  int32_t* rows = args.rows + int64_t{cluster} * args.count;
  int counted = 0;
  for (int first = 0; first < args.count; first += kClusterThreads) {
    const int row = first + simt::thread();
    int32_t column = -1;
    if (row < args.count) {
      const int32_t target = args.targets[row];
      column = cluster == 0 ? args.column_in_first(target) : args.column_in_tail(cluster, target);
      columns[row] = column;
    }
    const Rank rank = rank_of(column >= 0);
    if (column >= 0) rows[counted + rank.before] = row;
    counted += rank.total;
  }
  if (simt::thread() == 0) args.counts[cluster] = counted;
}

}  // namespace

void token_clusters(Queue& queue, const TokenClusters& args) {
  ClusterArguments arguments{.targets = args.targets.as<int32_t>(),
                             .count = static_cast<int>(args.targets.shape[0]),
                             .tails = static_cast<int>(args.cutoffs.size()),
                             .reversed = args.gates == GateOrder::kReversed,
                             .cutoffs = {},
                             .columns = args.columns.as<int32_t>(),
                             .rows = args.rows.as<int32_t>(),
                             .counts = args.counts.as<int32_t>()};
  for (size_t i = 0; i < args.cutoffs.size(); ++i) arguments.cutoffs[i] = static_cast<int32_t>(args.cutoffs[i]);
  simt::launch(queue.cuda(), "token_clusters", {.x = arguments.tails + 1, .threads = kClusterThreads},
               token_clusters_kernel, arguments);
}

}  // namespace segue::kernels::cuda
