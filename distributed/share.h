// Divides a range of numbered items among ranks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace segue {

// A contiguous range of things numbered over all ranks.
struct Share {
  int64_t first = 0;
  int64_t count = 0;
  bool operator==(const Share&) const = default;
};

// What two ranges have in common; a count of 0 when that is nothing.
inline Share common_part(const Share& a, const Share& b) {
  const int64_t first = std::max(a.first, b.first);
  return {.first = first, .count = std::max<int64_t>(std::min(a.first + a.count, b.first + b.count) - first, 0)};
}

// The part of `rank` when `total` things are dealt to `ranks` ranks in order; sizes differ by at most one, the larger
// first.
inline Share share_of(int64_t total, int ranks, int rank) {
  const int64_t least = total / ranks;
  const int64_t larger = total % ranks;
  return {.first = rank * least + std::min<int64_t>(rank, larger), .count = least + (rank < larger ? 1 : 0)};
}

}  // namespace segue
