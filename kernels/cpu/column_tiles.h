// Column sums that do not depend on the number of threads, and need no scratch memory.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

constexpr int64_t kTileRows = 32;
constexpr int64_t kTileColumns = 64;

// One value per column of a tile.
using TileColumns = std::array<float, kTileColumns>;

// Calls tile(row, rows, column, columns) for all tiles of a [rows, columns] matrix. Threads share the columns, and the
// tiles of a column come in increasing row order: what a tile adds to a column's sum is added in one fixed order.
template <typename Tile>
void for_each_column_tile(const Queue& queue, int64_t rows, int64_t columns, const Tile& tile) {
  const int64_t tiles = (columns + kTileColumns - 1) / kTileColumns;
  const int64_t wanted = std::min<int64_t>(threads_for(queue, rows * columns), tiles);
#pragma omp parallel num_threads(static_cast <int>(std::max <int64_t>(wanted, 1)))
  {
    const int64_t threads = omp_get_num_threads();
    const int64_t begin = tiles * omp_get_thread_num() / threads * kTileColumns;
    const int64_t end = std::min(columns, tiles * (omp_get_thread_num() + 1) / threads * kTileColumns);
    for (int64_t row = 0; row < rows; row += kTileRows) {
      for (int64_t column = begin; column < end; column += kTileColumns)
        tile(row, std::min(kTileRows, rows - row), column, std::min(kTileColumns, end - column));
    }
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
