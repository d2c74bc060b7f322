// The clusters of a vocabulary that targets belong to, straight from the definition.
#pragma once

#include <cstdint>
#include <vector>

namespace segue::oracle {

// One cluster: the column of every target, -1 for those of others and for -1 itself, and which targets are its own.
struct TokenCluster {
  std::vector<int32_t> columns, rows;
};

inline std::vector<TokenCluster> token_clusters(const std::vector<int32_t>& targets,
                                                const std::vector<int64_t>& cutoffs, int64_t vocabulary,
                                                bool reversed) {
  const size_t tails = cutoffs.size();
  std::vector<TokenCluster> clusters(tails + 1);
  for (size_t i = 0; i <= tails; ++i) {
    const int64_t begin = i == 0 ? 0 : cutoffs[i - 1];
    const int64_t end = i == tails ? vocabulary : cutoffs[i];
    for (size_t r = 0; r < targets.size(); ++r) {
      const bool own = targets[r] >= begin && targets[r] < end;
      clusters[i].columns.push_back(own ? static_cast<int32_t>(targets[r] - begin) : -1);
      if (own || (i == 0 && targets[r] != -1)) clusters[i].rows.push_back(static_cast<int32_t>(r));
      if (own && i > 0) clusters[0].columns[r] = static_cast<int32_t>(cutoffs[0] + (reversed ? tails - i : i - 1));
    }
  }
  return clusters;
}

}  // namespace segue::oracle
