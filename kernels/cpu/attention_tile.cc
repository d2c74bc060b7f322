// The scores of one tile: content by queries and keys, position by queries and a band of distances.
#include "kernels/cpu/attention_tile.h"

#include <cmath>
#include <limits>
#include <utility>

namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL {

namespace {

template <typename A>
void load_biased(const AttentionShape& shape, const Rows<const A>& rows, Range queries, const float* bias, float* to) {
  load_rows(shape, queries.count, rows.from(queries.first), to);
  for (int64_t row = 0; row < queries.count; ++row) {
    for (int64_t h = 0; h < shape.width; ++h) {
      float& element = to[row * shape.row_stride + h];
      element = shape.scale * (element + bias[h]);
    }
  }
}

// The band's right block for the distances farthest, farthest - 1, ... Distances beyond the last row of r read that row
// (the clamp); those in the future are masked later and only have to be numbers.
template <typename A>
void compute_band_block(const AttentionShape& shape, const HeadInputs<A>& head, int64_t queries, int64_t farthest,
                        ScoreBuffers& buffers) {
  const auto position = [&](int64_t column) {
    const int64_t distance = farthest - column;
    return distance < 0 ? nullptr : head.positions(std::min(distance, shape.positions - 1));
  };
  float* rows = buffers.positions[buffers.right].data();
  load_rows(shape, shape.tile, position, rows);
  transpose_rows(shape, shape.tile, rows, buffers.columns.data());
  tile_gemm({.rows = queries,
             .columns = shape.tile,
             .depth = shape.width,
             .a = {buffers.position_queries.data(), shape.row_stride},
             .b = buffers.columns.data(),
             .b_stride = shape.tile,
             .c = buffers.band.data() + shape.tile,
             .c_stride = 2 * shape.tile});
}

// The right block becomes the left one; the nearer block is computed, unless it lies altogether in the future.
template <typename A>
void advance_band(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers) {
  const int64_t farthest = farthest_distance(shape, tile.queries.first, tile.keys.first) - shape.tile;
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    float* left = buffers.band.data() + row * 2 * shape.tile;
    float* right = left + shape.tile;
    copy_vectors(right, shape.tile, left);
    if (farthest < 0) clear_vectors(right, shape.tile);
  }
  buffers.right = 1 - buffers.right;
  if (farthest >= 0) compute_band_block(shape, head, tile.queries.count, farthest, buffers);
}

// The columns of the tile, [begin, end), that its query `row` sees.
std::pair<int64_t, int64_t> seen_columns(const AttentionShape& shape, const Tile& tile, int64_t row) {
  const Range seen = seen_keys(shape, {tile.queries.first + row, 1});
  const int64_t begin = seen.first - tile.keys.first;
  return {std::clamp<int64_t>(begin, 0, tile.keys.count), std::clamp<int64_t>(begin + seen.count, 0, tile.keys.count)};
}

void add_positions_and_mask(const AttentionShape& shape, const Tile& tile, ScoreBuffers& buffers) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const int64_t columns = padded(tile.keys.count);
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    float* scores = buffers.scores.data() + row * shape.tile;
    const float* positions = buffers.band.data() + row * 2 * shape.tile + shape.tile - 1 - row;
    for (int64_t column = 0; column < columns; column += kLanes)
      store_vector(scores + column, load_vector(scores + column) + load_vector(positions + column));
    const auto [begin, end] = seen_columns(shape, tile, row);
    std::fill(scores, scores + begin, kHidden);
    std::fill(scores + end, scores + columns, kHidden);
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
  compute_band_block(shape, head, queries.count, farthest, buffers);
}

template <typename A>
void score_tile(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers) {
  load_rows(shape, tile.keys.count, head.rows.keys.from(tile.keys.first), buffers.keys.data());
  transpose_rows(shape, tile.keys.count, buffers.keys.data(), buffers.columns.data());
  tile_gemm({.rows = tile.queries.count,
             .columns = padded(tile.keys.count),
             .depth = shape.width,
             .a = {buffers.content_queries.data(), shape.row_stride},
             .b = buffers.columns.data(),
             .b_stride = shape.tile,
             .c = buffers.scores.data(),
             .c_stride = shape.tile});
  advance_band(shape, head, tile, buffers);
  add_positions_and_mask(shape, tile, buffers);
}

template void begin_scores(const AttentionShape&, const HeadInputs<float>&, Range, ScoreBuffers&);
template void begin_scores(const AttentionShape&, const HeadInputs<BFloat16>&, Range, ScoreBuffers&);
template void score_tile(const AttentionShape&, const HeadInputs<float>&, const Tile&, ScoreBuffers&);
template void score_tile(const AttentionShape&, const HeadInputs<BFloat16>&, const Tile&, ScoreBuffers&);

}  // namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL
