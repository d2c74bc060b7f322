// One pass over the targets by one thread: some nanoseconds for each.
#include <algorithm>

#include "kernels/cpu/operations.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void token_clusters(Queue& /*queue*/, const TokenClusters& args) {
  const int64_t targets = args.targets.shape[0];
  const auto tails = static_cast<int64_t>(args.cutoffs.size());
  const int32_t* target = args.targets.as<int32_t>();
  int32_t* columns = args.columns.as<int32_t>();
  int32_t* rows = args.rows.as<int32_t>();
  int32_t* counts = args.counts.as<int32_t>();
  std::fill_n(counts, tails + 1, 0);
  std::fill_n(columns, (tails + 1) * targets, -1);
  const auto add = [&](int64_t cluster, int64_t row, int64_t column) {
    columns[cluster * targets + row] = static_cast<int32_t>(column);
    rows[cluster * targets + counts[cluster]++] = static_cast<int32_t>(row);
  };
  for (int64_t row = 0; row < targets; ++row) {
    const int64_t token = target[row];
    if (token < 0) continue;
    const int64_t tail = std::upper_bound(args.cutoffs.begin(), args.cutoffs.end(), token) - args.cutoffs.begin();
    if (tail == 0) {
      add(0, row, token);
      continue;
    }
    const int64_t gate = args.gates == GateOrder::kAscending ? tail - 1 : tails - tail;
    add(0, row, args.cutoffs[0] + gate);
    add(tail, row, token - args.cutoffs[static_cast<size_t>(tail - 1)]);
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
