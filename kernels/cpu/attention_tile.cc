// The scores of one tile: content by queries and keys, position by queries and a band of distances.
#include "kernels/cpu/attention_tile.h"

#include <cmath>
#include <limits>
#include <utility>

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

template <typename A>
void load_biased(const AttentionShape& shape, const Rows<const A>& rows, Range queries, const float* bias, float* to) {
  load_rows(shape, queries.count, rows_from(rows, queries.first), to);
  for (int64_t row = 0; row < queries.count; ++row) {
    float* elements = to + row * shape.row_stride;
#pragma omp simd
    for (int64_t h = 0; h < shape.width; ++h) elements[h] = shape.scale * (elements[h] + bias[h]);
  }
}

// The band's right block for the distances farthest, farthest - 1, ... Distances beyond the last row of r read that row
// (the clamp); those in the future are masked later and only have to be numbers.
template <typename A>
void compute_band_block(const AttentionShape& shape, const HeadInputs<A>& head, Range queries, int64_t farthest,
                        ScoreBuffers& buffers) {
  const auto position = [&](int64_t column) {
    const int64_t distance = farthest - column;
    return distance < 0 ? nullptr : head.positions(std::min(distance, shape.positions - 1));
  };
  float* rows = buffers.positions[buffers.right].data();
  load_rows(shape, shape.tile, position, rows);
  transpose_rows(shape, shape.tile, rows, buffers.columns.data());
  const TileGemm product{.depth = shape.width,
                         .a = {buffers.position_queries.data(), shape.row_stride},
                         .b = buffers.columns.data(),
                         .b_stride = shape.tile,
                         .c = buffers.band.data() + shape.tile,
                         .c_stride = 2 * shape.tile};
  visit_row_blocks(queries.count, [&](Range block) {
    const Range seeing{queries.first + block.first, block.count};
    tile_gemm(product.for_rows(block).for_columns(band_columns(shape, seeing, farthest)));
  });
}

// The right block becomes the left one; the nearer block is computed, unless it lies altogether in the future.
template <typename A>
void advance_band(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers) {
  const int64_t farthest = farthest_distance(shape, tile.queries.first, tile.keys.first) - shape.tile;
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    float* left = buffers.band.data() + row * 2 * shape.tile;
    float* right = left + shape.tile;
    copy_vectors(right, shape.tile, left);
  }
  buffers.right = 1 - buffers.right;
  if (farthest >= 0) compute_band_block(shape, head, tile.queries, farthest, buffers);
}

// Of the columns that the block of rows sees, hides from each row those that it does not see.
void hide_unseen(const AttentionShape& shape, const Tile& tile, Range rows, Range columns, Rows<float> scores) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const int64_t end = columns.first + columns.count;
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const Range seen = seen_keys(shape, {tile.queries.first + row, 1});
    const int64_t seen_first = seen.first - tile.keys.first;
    std::fill(scores(row) + columns.first, scores(row) + std::clamp(seen_first, columns.first, end), kHidden);
    std::fill(scores(row) + std::clamp(seen_first + seen.count, columns.first, end), scores(row) + end, kHidden);
  }
}

}  // namespace

AttentionShape::AttentionShape(const RelativeAttentionInputs& in)
    : streams(in.qkv.shape[0]),
      queries(in.qkv.shape[1]),
      memory(in.memory_kv.shape[1]),
      heads(in.qkv.shape[3]),
      width(in.qkv.shape[4]),
      positions(in.r.shape[0]),
      window(in.window),
      row_stride(padded(width)),
      tile(std::min(kMaxTile, kTileFloats / row_stride / kLanes * kLanes)),
      scale(static_cast<float>(1.0 / std::sqrt(static_cast<double>(width)))) {}

void transpose_rows(const AttentionShape& shape, int64_t count, const float* rows, float* columns) {
  for (int64_t row = 0; row < count; row += kLanes) {
    for (int64_t h = 0; h < shape.width; h += kLanes)
      transpose_square(rows + row * shape.row_stride + h, shape.row_stride, columns + h * shape.tile + row, shape.tile);
  }
}

template <typename A>
void begin_scores(const AttentionShape& shape, const HeadInputs<A>& head, Range queries, ScoreBuffers& buffers) {
  load_biased(shape, head.rows.queries, queries, head.content_bias, buffers.content_queries.data());
  load_biased(shape, head.rows.queries, queries, head.position_bias, buffers.position_queries.data());
  const int64_t farthest = farthest_distance(shape, queries.first, seen_keys(shape, queries).first);
  compute_band_block(shape, head, queries, farthest, buffers);
}

template <typename A>
void score_tile(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers) {
  advance_band(shape, head, tile, buffers);
  load_rows(shape, tile.keys.count, rows_from(head.rows.keys, tile.keys.first), buffers.keys.data());
  transpose_rows(shape, tile.keys.count, buffers.keys.data(), buffers.columns.data());
  const Rows<float> scores = buffers.scores(shape);
  const TileGemm product{.depth = shape.width,
                         .a = {buffers.content_queries.data(), shape.row_stride},
                         .b = buffers.columns.data(),
                         .b_stride = shape.tile,
                         .c = scores.data,
                         .c_stride = scores.stride,
                         .accumulate = true};
  visit_row_blocks(tile.queries.count, [&](Range rows) {
    const Range columns = seen_columns(shape, tile, rows);
    tile_gemm(product.for_rows(rows).for_columns(columns));
    hide_unseen(shape, tile, rows, columns, scores);
  });
}

template void begin_scores(const AttentionShape&, const HeadInputs<float>&, Range, ScoreBuffers&);
template void begin_scores(const AttentionShape&, const HeadInputs<BFloat16>&, Range, ScoreBuffers&);
template void score_tile(const AttentionShape&, const HeadInputs<float>&, const Tile&, ScoreBuffers&);
template void score_tile(const AttentionShape&, const HeadInputs<BFloat16>&, const Tile&, ScoreBuffers&);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
