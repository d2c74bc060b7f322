// Groups of rows pooled into one row each, column by column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/pool_rows.h"

namespace segue::oracle {

// x [G, C, D] -> [G, D]
inline std::vector<double> pooled_rows(kernels::Pooling pooling, const std::vector<double>& x, int64_t groups,
                                       int64_t size, int64_t columns) {
  std::vector<double> pooled;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t d = 0; d < columns; ++d) {
      double sum = 0.0, largest = x[g * size * columns + d];
      for (int64_t i = 0; i < size; ++i) {
        const double element = x[(g * size + i) * columns + d];
        sum += element;
        largest = std::max(largest, element);
      }
      pooled.push_back(pooling == kernels::Pooling::kMean ? sum / static_cast<double>(size) : largest);
    }
  }
  return pooled;
}

}  // namespace segue::oracle
