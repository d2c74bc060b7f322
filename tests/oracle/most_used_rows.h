// The rows that were used most, by sorting them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace segue::oracle {

// The numbers of the `kept` rows of the largest usage, ascending; of equals the first.
inline std::vector<int64_t> most_used(const std::vector<double>& usage, int64_t kept) {
  std::vector<int64_t> rows(usage.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](int64_t a, int64_t b) { return usage[a] > usage[b]; });
  rows.resize(kept);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace segue::oracle
