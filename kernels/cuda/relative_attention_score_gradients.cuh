// The gradients of scores, ds, between the kernel that computes them and those that multiply them: how a tile of them
// leaves for the workspace, and the walk of tiles that come back.
//
// They lie there by key and by distance, as the products with keys and with positions want them. Whole tiles are
// written by key. By distance a tile of keys is a parallelogram, so that readers meet pairs that nobody wrote.
#pragma once

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

// A tile of queries from i0 on and keys from j0 on to its place by key.
template <int kBlockThreads, typename Element>
__device__ __forceinline__ void store_by_key(const Tile<Element, kTile<Element>>& tile,
                                             const ScoreGradients<Element>& to, int i0, int j0) {
  using T = Tile<Element, kTile<Element>>;
  using Chunk = simt::Packed<Element, T::kPerChunk>;
  constexpr int kAtOnce = kBlockThreads / T::kChunks;
  static_assert(kBlockThreads % T::kChunks == 0);
  const int row = simt::thread() / T::kChunks;
  const int column = simt::thread() % T::kChunks * T::kPerChunk;
  Element* place = to.at(to.by_key, i0 + row, j0 + column);
  const int64_t step = static_cast<int64_t>(kAtOnce) * to.columns;
#pragma unroll
  for (int i = 0; i < kTile<Element>; i += kAtOnce, place += step)
    *reinterpret_cast<Chunk*>(place) = *reinterpret_cast<const Chunk*>(tile.at(row + i, column));
}

// The same by distance: a warp takes rows, whose keys, from the last to the first, are at distances that follow each
// other. Those ahead, and rows behind the last query, have no place.
template <int kBlockThreads, typename Element>
__device__ __forceinline__ void store_by_distance(const AttentionInputs<Element>& in,
                                                  const Tile<Element, kTile<Element>>& tile,
                                                  const ScoreGradients<Element>& to, int i0, int j0) {
  constexpr int kRows = kTile<Element> * simt::kWarp / kBlockThreads;  // of the warp
  const int first = simt::warp() * kRows;
  const int last_column = kTile<Element> - 1 - simt::lane();
  const int nearest = in.mem_len + i0 + first - j0 - last_column;
  const int queries = in.tgt_len - i0 - first;
  const int64_t step = to.columns + 1;
  const auto store = [&](const auto& is_there) {
    Element* place = to.at(to.by_distance, i0 + first, nearest);
#pragma unroll
    for (int row = 0; row < kRows; ++row, place += step) {
#pragma unroll
      for (int column = 0; column < kTile<Element>; column += simt::kWarp) {
        if (is_there(row, column)) place[column] = *tile.at(first + row, last_column - column);
      }
    }
  };
  if (queries >= kRows && nearest + last_column >= kTile<Element> - 1) {
    store([](int, int) { return true; });
  } else {
    store([&](int row, int column) { return row < queries && nearest + row + column >= 0; });
  }
}

// A tile of ds and the rows that it is multiplied with.
template <typename Element, int kWidth>
struct ScoreOperands {
  Tile<Element, kTile<Element>> dscores;
  Tile<Element, kWidth> rows;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit ScoreOperands(Memory& memory)
      : dscores(memory, kTile<Element>), rows(memory, kTile<Element>) {}
};

// Those that are multiplied, and those on their way.
template <typename Element, int kWidth>
struct ScoreTiles : Division<Element, kWidth> {
  ScoreOperands<Element, kWidth> current, next;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit ScoreTiles(Memory& memory) : current(memory), next(memory) {}

  __device__ __forceinline__ void exchange() {
    const ScoreOperands<Element, kWidth> done = current;
    current = next;
    next = done;
  }
  // The operands of a tile: ds of queries from i0 on in the columns from `column` on, and `rows` from `row` on.
  template <typename Source>
  __device__ __forceinline__ void load_next(const AttentionInputs<Element>& in, const ScoreGradients<Element>& from,
                                            const Element* dscores, int i0, int column, const Source& rows,
                                            int row) const {
    copy_rows<kTile<Element>, ScoreTiles::kBlockThreads>(next.dscores, 0, from.at(dscores, i0, column), from.columns);
    load_rows<ScoreTiles::kBlockThreads>(in, next.rows, 0, rows, row);
  }
};

// For each tile of the walk: calls load_next(row), which fills tiles.next, and, once that is tiles.current and has
// landed, multiply(row, seen), while the next tile is on its way.
template <typename Element, int kWidth, bool kListed, typename LoadNext, typename Multiply>
__device__ __forceinline__ void multiply_along(TileWalk<Element, kListed> walk, ScoreTiles<Element, kWidth>& tiles,
                                               const LoadNext& load_next, const Multiply& multiply) {
  const auto start = [&] {
    if (walk.is_over()) return;
    load_next(walk.row());
    simt::async_commit();
  };
  start();
  while (!walk.is_over()) {
    const int row = walk.row();
    const auto seen = walk.seen();
    walk.move_on();
    simt::async_wait<0>();
    sync_tiles<Element, kWidth>();  // the copies of all threads have landed, and all are done with what is replaced now
    tiles.exchange();
    start();
    multiply(row, seen);
  }
}

// Zeros for the pairs that are not seen, whatever there is in their place, in a tile of queries from i0 on and
// distances from e0 on. All threads call, and see the zeros of the others.
template <typename Element, int kWidth, typename Seen>
__device__ __forceinline__ void clear_unseen(const AttentionInputs<Element>& in, const HeadPlace& at,
                                             const ScoreOperands<Element, kWidth>& operands, int i0, int e0,
                                             Seen seen) {
  using enum KeyOrder;
  using Part = Division<Element, kWidth>;
  const int first_key = in.mem_len + i0 - e0;
  if (surely_see_all<kDescending, kTile<Element>, kTile<Element>>(
          in, i0, [&](int row) { return first_key + row; }, seen))
    return;
  const WarpPlace<Element> warp;
  const LaneOfAccumulators lane;
  const int column = warp.part * Part::kColumns;
  visit_unseen<kDescending, Part::kColumns>(
      in, at, i0 + warp.row, [&](int row) { return first_key + warp.row + row - column; }, seen,
      [&](int block, int i) {
        *operands.dscores.at(warp.row + lane.row(i), column + lane.column(block, i)) = static_cast<Element>(0.0F);
      });
  sync_tiles<Element, kWidth>();
}

}  // namespace segue::kernels::cuda
