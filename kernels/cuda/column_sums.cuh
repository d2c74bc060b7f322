// Sums over the rows of a matrix, for gradients of biases and gains: parts of the rows first, then over the parts. The
// order depends on the shape alone.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cuda/reduce.cuh"

namespace segue::simt {

constexpr int kColumnWarps = 8;         // rows of a tile that are on their way at a time
constexpr int kColumnBlocks = 4 * 132;  // enough to fill the largest GPUs
constexpr int kLeastPartRows = 32;      // a part with fewer is not worth its share of the second pass

// Adds up the rows [begin, end) of the block's tile of columns: terms.add<kWidth>(row, column, sums) adds one row's
// terms of the columns column .. column + kWidth - 1 to each of the Terms::kSums sums; write(sum, column, value)
// receives them.
template <int kWidth, typename Terms, typename Write>
__device__ __forceinline__ void sum_tile(const Terms& terms, int64_t begin, int64_t end, int64_t columns,
                                         const Write& write) {
  constexpr int kTile = kWarp * kWidth;
  auto& tile = static_shared<float[kColumnWarps][Terms::kSums][kTile], 1>();
  const int64_t first = int64_t{block()} * kTile;
  const int64_t column = first + lane() * kWidth;
  float sums[Terms::kSums][kWidth] = {};
  if (column < columns) {
    for (int64_t row = begin + warp(); row < end; row += kColumnWarps) terms.template add<kWidth>(row, column, sums);
  }
  for (int s = 0; s < Terms::kSums; ++s) {
    for (int i = 0; i < kWidth; ++i) tile[warp()][s][lane() * kWidth + i] = sums[s][i];
  }
  sync_block();
  for (int at = thread(); at < Terms::kSums * kTile; at += block_threads()) {
    float total = 0.0F;
    for (int w = 0; w < kColumnWarps; ++w) total += tile[w][at / kTile][at % kTile];
    if (first + at % kTile < columns) write(at / kTile, first + at % kTile, total);
  }
}

template <typename Terms>
struct ColumnParts {
  Terms terms;
  int64_t rows;
  int64_t columns;
  int64_t part_rows;
  float* parts;  // [parts, kSums, columns]
};

template <int kWidth, typename Terms>
__global__ void column_parts_kernel(ColumnParts<Terms> args) {
  const int64_t begin = block_y() * args.part_rows;
  const int64_t end = begin + args.part_rows < args.rows ? begin + args.part_rows : args.rows;
  float* part = args.parts + block_y() * Terms::kSums * args.columns;
  sum_tile<kWidth>(args.terms, begin, end, args.columns,
                   [&](int sum, int64_t column, float value) { part[sum * args.columns + column] = value; });
}

// The elements of a matrix themselves.
template <typename Element>
struct MatrixTerms {
  static constexpr int kSums = 1;
  const Element* matrix;
  int64_t columns;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t column, float (&sums)[1][kWidth]) const {
    float terms[kWidth];
    load(matrix + row * columns + column, terms);
    for (int i = 0; i < kWidth; ++i) sums[0][i] += terms[i];
  }
};

// Where the sums go: the first `columns` to `first`, those after to `second`.
struct ColumnTotals {
  MatrixTerms<float> terms;
  int64_t parts;
  int64_t columns;
  float* first;
  float* second;
};

template <int kWidth>
__global__ void column_totals_kernel(ColumnTotals args) {
  sum_tile<kWidth>(args.terms, 0, args.parts, args.terms.columns, [&](int, int64_t column, float value) {
    float* to = column < args.columns ? args.first + column : args.second + (column - args.columns);
    *to += value;
  });
}

// For every row and column once, terms.add; then totals[s][c] += the sums. Without totals, terms.add is all that
// happens. Takes the queue's scratch.
template <int kWidth, typename Terms>
void add_column_sums(cuda::Queue& queue, const char* name, const Terms& terms, int64_t rows, int64_t columns,
                     const std::array<float*, Terms::kSums>& totals) {
  if (rows == 0 || columns == 0) return;
  const int64_t tiles = divide_up(columns, kWarp * kWidth);
  const int64_t wanted = std::clamp<int64_t>(kColumnBlocks / tiles, 1, divide_up(rows, kLeastPartRows));
  const int64_t part_rows = divide_up(rows, wanted);
  const int64_t parts = divide_up(rows, part_rows);
  const int64_t part_columns = Terms::kSums * columns;
  auto* scratch = static_cast<float*>(queue.scratch(parts * part_columns * static_cast<int64_t>(sizeof(float))));
  launch(
      queue, name, {.x = tiles, .y = static_cast<int>(parts), .threads = kColumnWarps * kWarp},
      column_parts_kernel<kWidth, Terms>,
      ColumnParts<Terms>{.terms = terms, .rows = rows, .columns = columns, .part_rows = part_rows, .parts = scratch});
  if (totals[0] == nullptr) return;
  launch(queue, name, {.x = divide_up(part_columns, kWarp), .threads = kColumnWarps * kWarp}, column_totals_kernel<1>,
         ColumnTotals{.terms = {.matrix = scratch, .columns = part_columns},
                      .parts = parts,
                      .columns = columns,
                      .first = totals.front(),
                      .second = totals.back()});
}

}  // namespace segue::simt
