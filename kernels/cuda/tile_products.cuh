// Products of a warp whose operands are whole tiles: its 16 rows times a tile of columns.
#pragma once

#include "kernels/cuda/mma_tile.cuh"

namespace segue::kernels::cuda {

// Rows of a block and columns of a tile; a warp takes 16 of the rows. As many as shared memory holds at the widest
// rows.
template <typename Element>
inline constexpr int kTile = 64;
template <>
inline constexpr int kTile<float> = 32;
template <typename Element>
inline constexpr int kThreads = kTile<Element> / 16 * simt::kWarp;

// Warps that share 16 rows, each with a part of a tile's columns and then of the result's: where one could not hold
// them.
template <typename Element, int kWidth>
inline constexpr int kWarpsBeside = 1;
template <>
inline constexpr int kWarpsBeside<BFloat16, 128> = 2;

// The part of a block's work that is this warp's: 16 rows from `row` on, and which of the parts of the columns.
template <typename Element>
struct WarpPlace {
  static constexpr int kRowWarps = kTile<Element> / 16;
  int row = simt::warp() % kRowWarps * 16;
  int part = simt::warp() / kRowWarps;
};

// Whether the block's four warps multiply tiles of this width together; what a warp gets is the same.
template <typename Element, int kWidth, int kColumns>
inline constexpr bool kInGroup = false;
template <>
inline constexpr bool kInGroup<BFloat16, 64, 64> = simt::kMultipliesInGroups;

// A tile as an operand, its rows from `row` on, a multiple of eight.
template <simt::Columns kColumns>
__device__ __forceinline__ simt::GroupOperand<kColumns> group_operand(const Tile<BFloat16, 64>& tile, int row = 0) {
  return simt::GroupOperand<kColumns>(tile.data() + row * 64);
}

// A barrier of the block, after which its warps, or all together, multiply what its threads wrote to tiles.
template <typename Element, int kWidth>
__device__ __forceinline__ void sync_tiles() {
  if constexpr (kInGroup<Element, kWidth, 64>) simt::publish_to_group();
  simt::sync_block();
}

// How many of the steps of 16 that make up kDepth are unrolled: of rows of kWidth, all that registers have room for.
template <int kWidth, int kDepth>
inline constexpr int kStepsAtATime = kWidth > 128 ? 1 : kDepth / 16;

// Rows in memory: how many elements, and whether they can be copied 16 bytes at a time.
struct RowFormat {
  int width;
  bool vectorised;
};

// Row `first` + i of the tile becomes row_of(i), format.width elements and zeros after them; all zeros where it is
// null. The copies are asynchronous: commit and wait.
template <typename Element, int kWidth, typename RowOf>
__device__ __forceinline__ void load_rows(const Tile<Element, kWidth>& tile, int first, int rows,
                                          const RowFormat& format, const RowOf& row_of) {
  using T = Tile<Element, kWidth>;
  for (int index = simt::thread(); index < rows * T::kChunks; index += simt::block_threads()) {
    const int row = index / T::kChunks;
    const int column = index % T::kChunks * T::kPerChunk;
    const Element* from = row_of(row);
    Element* to = tile.at(first + row, column);
    if (format.vectorised) {
      const bool valid = from != nullptr && column < format.width;
      simt::async_copy_16(to, valid ? from + column : nullptr, valid);
      continue;
    }
    for (int i = 0; i < T::kPerChunk; ++i)
      to[i] = from != nullptr && column + i < format.width ? from[column + i] : static_cast<Element>(0.0F);
  }
}

// The same for kRows whole rows of kWidth elements, from a multiple of eight of the tile's on, `pitch` elements from
// one to the next, 16 bytes at a time, by kBlockThreads threads: all of the block's.
template <int kRows, int kBlockThreads, typename Element, int kWidth>
__device__ __forceinline__ void copy_rows(const Tile<Element, kWidth>& tile, int first, const Element* from,
                                          int pitch) {
  using T = Tile<Element, kWidth>;
  constexpr int kAtOnce = kBlockThreads / T::kChunks;
  static_assert(kBlockThreads % T::kChunks == 0);
  const int row = simt::thread() / T::kChunks;
  const int column = simt::thread() % T::kChunks * T::kPerChunk;
  from += row * pitch + column;
  const int64_t step = static_cast<int64_t>(kAtOnce) * pitch;
#pragma unroll
  for (int i = 0; i < kRows; i += kAtOnce, from += step) {
    Element* to = kAtOnce % 8 == 0 ? tile.in_block(first + i, 0, row, column) : tile.at(first + row + i, column);
    simt::async_copy_16(to, from, true);
  }
}

// The accumulators of a warp: 16 rows of kColumns, in blocks of eight columns.
template <int kColumns>
struct Accumulators {
  float value[kColumns / 8][4] = {};

  static constexpr int kValues = kColumns / 2;  // of one lane
};

// The part of accumulators that a lane holds: value[block][i] is at row row(i) and column column(block, i).
struct LaneOfAccumulators {
  LanePlace lane;
  __device__ __forceinline__ int row(int i) const { return lane.group + i / 2 * 8; }
  __device__ __forceinline__ int column(int block, int i) const { return block * 8 + lane.pair + i % 2; }
};

// sums += a [16, 16] · the transpose of rows [row, row + kColumns) and columns [k, k + 16) of `b`.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_transpose(Accumulators<kColumns>& sums, const FragmentA<Element>& a,
                                                   const Tile<Element, kWidth>& b, int row, int k) {
#pragma unroll
  for (int column = 0; column < kColumns; column += 16) {
    FragmentB<Element> pair[2];
    load_b(pair, b, row + column, k);
    multiply(sums.value[column / 8], a, pair[0]);
    multiply(sums.value[column / 8 + 1], a, pair[1]);
  }
}

// sums += a [16, 16] · rows [row, row + 16) of `b`, its columns from `first` on, a multiple of 64.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_16_rows(Accumulators<kColumns>& sums, const FragmentA<Element>& a,
                                                 const Tile<Element, kWidth>& b, int row, int first = 0) {
#pragma unroll
  for (int column = 0; column < kColumns; column += 16) {
    FragmentB<Element> pair[2];
    load_b_rows(pair, b, row, column, first);
    multiply(sums.value[column / 8], a, pair[0]);
    multiply(sums.value[column / 8 + 1], a, pair[1]);
  }
}

// sums += rows [row, row + 16) of `a` times the transpose of kColumns rows of `b`, those from `first` on.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_straight(Accumulators<kColumns>& sums, const Tile<Element, kWidth>& a, int row,
                                                  const Tile<Element, kWidth>& b, int first = 0) {
  if constexpr (kInGroup<Element, kWidth, kColumns>) {
    using enum simt::Columns;
    simt::multiply_in_group(sums.value, group_operand<kAlongSum>(a), group_operand<kAlongSum>(b));
  } else {
    [[maybe_unused]] constexpr int kSteps = kStepsAtATime<kWidth, kWidth>;
#pragma unroll kSteps
    for (int k = 0; k < kWidth; k += 16) {
      FragmentA<Element> fragment;
      load_a(fragment, a, row, k);
      multiply_transpose(sums, fragment, b, first, k);
    }
  }
}

// sums [16, kWidth] += a [16, kTile] · the first kTile rows of `b`, with `a` in accumulators.
template <typename Element, int kWidth>
__device__ __forceinline__ void multiply_rows(Accumulators<kWidth>& sums, const Accumulators<kTile<Element>>& a,
                                              const Tile<Element, kWidth>& b) {
  if constexpr (kInGroup<Element, kWidth, kWidth>) {
    uint32_t rows[4][4];
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      FragmentA<Element> fragment;
      as_operand(fragment, a.value[2 * step], a.value[2 * step + 1]);
#pragma unroll
      for (int i = 0; i < 4; ++i) rows[step][i] = fragment.part[0][i];
    }
    simt::multiply_in_group(sums.value, rows, group_operand<simt::Columns::kAcross>(b));
  } else {
#pragma unroll
    for (int k = 0; k < kTile<Element>; k += 16) {
      FragmentA<Element> fragment;
      as_operand(fragment, a.value[k / 8], a.value[k / 8 + 1]);
      multiply_16_rows(sums, fragment, b, k);
    }
  }
}

// The same with `a` in a tile, whose rows [row, row + 16) are the warp's, and the columns of `b` from `first` on, as
// above.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_rows(Accumulators<kColumns>& sums, const Tile<Element, kTile<Element>>& a,
                                              int row, const Tile<Element, kWidth>& b, int first = 0) {
  if constexpr (kInGroup<Element, kWidth, kColumns>) {
    using enum simt::Columns;
    simt::multiply_in_group(sums.value, group_operand<kAlongSum>(a), group_operand<kAcross>(b));
  } else {
    [[maybe_unused]] constexpr int kSteps = kStepsAtATime<kWidth, kTile<Element>>;
#pragma unroll kSteps
    for (int k = 0; k < kTile<Element>; k += 16) {
      FragmentA<Element> fragment;
      load_a(fragment, a, row, k);
      multiply_16_rows(sums, fragment, b, k, first);
    }
  }
}

// Values i and i + 1 of a block of accumulators, which are neighbours.
template <typename Element>
__device__ __forceinline__ void store_pair(Element* to, const float (&block)[4], int i) {
  const float pair[2] = {block[i], block[i + 1]};
  simt::store(to, pair);
}

// Accumulators of a warp's rows [row, row + 16) into a tile, from its column `first` on.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void store_tile(const Tile<Element, kWidth>& tile, int row,
                                           const Accumulators<kColumns>& values, int first = 0) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kColumns / 8; ++block) {
    for (int i = 0; i < 4; i += 2)
      store_pair(tile.at(row + lane.row(i), first + lane.column(block, i)), values.value[block], i);
  }
}

// sums += transpose of columns [column, column + 16) of `a` · the rows of `b`, their columns from `first` on; row_sums
// likewise with ones.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_transposed(Accumulators<kColumns>& sums, float (*row_sums)[4],
                                                    const Tile<Element, kTile<Element>>& a, int column,
                                                    const Tile<Element, kWidth>& b, int first = 0) {
  constexpr bool kTogether = kInGroup<Element, kWidth, kColumns>;
  if constexpr (kTogether) {
    using enum simt::Columns;
    simt::multiply_in_group(sums.value, group_operand<kAcross>(a), group_operand<kAcross>(b));
    if (row_sums == nullptr) return;
  }
  [[maybe_unused]] constexpr int kSteps = kStepsAtATime<kWidth, kTile<Element>>;
#pragma unroll kSteps
  for (int k = 0; k < kTile<Element>; k += 16) {
    FragmentA<Element> fragment;
    load_a_transposed(fragment, a, column, k);
    if (row_sums != nullptr) multiply(*row_sums, fragment, ones<Element>());
    if constexpr (!kTogether) multiply_16_rows(sums, fragment, b, k, first);
  }
}

}  // namespace segue::kernels::cuda
