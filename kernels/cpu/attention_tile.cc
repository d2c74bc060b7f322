// The scores of one tile: content by queries and keys, position by queries and a band of distances.
#include "kernels/cpu/attention_tile.h"

#include <cmath>
#include <limits>

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

template <typename A>
void load_biased(const AttentionShape& shape, const Rows<const A>& rows, Range queries, const float* bias, float* to) {
  load_rows(shape, queries.count, rows_from(rows, queries.first), to);
  for (int64_t row = 0; row < queries.count; ++row) {
    float* elements = to + row * shape.row_stride;
    if (bias == nullptr) {
#pragma omp simd
      for (int64_t h = 0; h < shape.width; ++h) elements[h] *= shape.scale;
      continue;
    }
#pragma omp simd
    for (int64_t h = 0; h < shape.width; ++h) elements[h] = shape.scale * (elements[h] + bias[h]);
  }
}

// Where the columns of the block of distances of this age lie.
float* columns_of_block(const AttentionShape& shape, int64_t age, ScoreBuffers& buffers) {
  return rows_of(shape, buffers.turn(age, shape.strip / shape.tile), buffers.distances);
}

// The next block: the distances farthest, farthest - 1, ..., unless they lie altogether in the future.
template <typename A>
void load_block(const AttentionShape& shape, const HeadInputs<A>& head, int64_t farthest, ScoreBuffers& buffers) {
  ++buffers.blocks;
  if (farthest < 0) return;
  load_columns(shape, shape.tile, positions_from(shape, head, farthest), columns_of_block(shape, 0, buffers));
}

// The right block of the band of a tile of queries, from the columns of the distances farthest, farthest - 1, ...
void compute_band_block(const AttentionShape& shape, int64_t place, Range queries, int64_t farthest,
                        const float* columns, ScoreBuffers& buffers) {
  const TileGemm product{.depth = shape.width,
                         .a = {rows_of(shape, place, buffers.position_queries), shape.row_stride},
                         .b = columns,
                         .b_stride = shape.tile,
                         .c = buffers.bands[static_cast<size_t>(place)].data() + shape.tile,
                         .c_stride = 2 * shape.tile};
  visit_row_blocks(queries.count, [&](Range block) {
    const Range seeing{queries.first + block.first, block.count};
    tile_gemm(product.for_rows(block).for_columns(band_columns(shape, seeing, farthest)));
  });
}

// The right block becomes the left one; the nearer block is computed, unless it lies altogether in the future.
void advance_band(const AttentionShape& shape, const Tile& tile, ScoreBuffers& buffers) {
  const int64_t farthest = farthest_distance(shape, tile.queries.first, tile.keys.first) - shape.tile;
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    float* left = buffers.bands[static_cast<size_t>(tile.place)].data() + row * 2 * shape.tile;
    float* right = left + shape.tile;
    copy_vectors(right, shape.tile, left);
  }
  if (farthest < 0) return;
  const float* columns = columns_of_block(shape, tile.place, buffers);
  compute_band_block(shape, tile.place, tile.queries, farthest, columns, buffers);
}

void add_biases(const AttentionShape& shape, const BandColumns& band, Range rows, Range columns, Rows<float> scores) {
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    float* to = scores(row) + columns.first;
    const float* from = run_of(shape, band, row, columns.first);
#pragma omp simd
    for (int64_t column = 0; column < columns.count; ++column) to[column] += from[column];
  }
}

// Scores become gains times rectified scores, which are kept.
void apply_gains(const AttentionShape& shape, const BandColumns& band, Range rows, Range columns, Rows<float> scores,
                 Rows<float> rectified) {
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    float* to = scores(row) + columns.first;
    float* kept = rectified(row) + columns.first;
    const float* gains = run_of(shape, band, row, columns.first);
#pragma omp simd
    for (int64_t column = 0; column < columns.count; ++column) {
      kept[column] = std::max(to[column], 0.0F);
      to[column] = gains[column] * kept[column];
    }
  }
}

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// The same by a mask.
void hide_masked(const Tile& tile, Range rows, Range columns, Rows<float> scores) {
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const auto seen = static_cast<uint64_t>(tile.mask[row]) >> tile.first_bit;
    float* of_row = scores(row);
#pragma omp simd
    for (int64_t column = columns.first; column < columns.first + columns.count; ++column)
      of_row[column] = (seen >> column & 1U) != 0 ? of_row[column] : kHidden;
  }
}

// Hides from each row the columns that it does not see, among those that its block of rows sees.
void hide_unseen(const AttentionShape& shape, const Tile& tile, Range rows, Range columns, Rows<float> scores) {
  if (tile.seen == Seen::kMasked) hide_masked(tile, rows, columns, scores);
  if (tile.seen != Seen::kByDistance && !tile.sight.is_limited()) return;
  const int64_t end = columns.first + columns.count;
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const Range seen = seen_keys(shape, {tile.queries.first + row, 1}, tile.sight);
    const int64_t seen_first = seen.first - tile.keys.first;
    std::fill(scores(row) + columns.first, scores(row) + std::clamp(seen_first, columns.first, end), kHidden);
    std::fill(scores(row) + std::clamp(seen_first + seen.count, columns.first, end), scores(row) + end, kHidden);
  }
}

// As many queries and keys as a tile of rows has room for; those of a schedule are to divide its tiles.
int64_t tile_of(int64_t row_stride, bool is_listed) {
  const int64_t tile = std::min(kMaxTile, kTileFloats / row_stride / kLanes * kLanes);
  return is_listed && tile < kScheduleTile ? kScheduleTile / 2 : tile;
}

int64_t columns_of(ConstTensorView by_distance) { return by_distance.empty() ? 0 : by_distance.shape[1]; }

}  // namespace

AttentionShape::AttentionShape(const RelativeAttentionInputs& in)
    : streams(in.qkv.shape[0]),
      queries(in.qkv.shape[1]),
      memory(in.memory_kv.shape[1]),
      heads(in.qkv.shape[3]),
      width(in.qkv.shape[4]),
      positions(in.r.empty() ? 0 : in.r.shape[0]),
      biases(columns_of(in.bias.empty() ? in.gain : in.bias)),
      window(in.window),
      row_stride(padded(width)),
      tile(tile_of(row_stride, !in.tiles.empty())),
      strip(tile * std::min(kMaxStripTiles, kTileFloats / (row_stride * tile))),
      scale(static_cast<float>(1.0 / std::sqrt(static_cast<double>(width)))) {}

template <typename A>
void begin_scores(const AttentionShape& shape, const HeadInputs<A>& head, Range strip, ScoreBuffers& buffers) {
  load_biased(shape, head.rows.queries, strip, head.content_bias, buffers.content_queries.data());
  if (!shape.has_distances()) return;
  load_biased(shape, head.rows.queries, strip, head.position_bias, buffers.position_queries.data());
}

template <typename A>
void begin_bands(const AttentionShape& shape, const HeadInputs<A>& head, Range strip, Range keys,
                 ScoreBuffers& buffers) {
  if (!shape.has_distances()) return;
  buffers.blocks = 0;
  const int64_t farthest = farthest_distance(shape, strip.first, keys.first);
  for (int64_t place = (strip.count - 1) / shape.tile; place >= 0; --place)
    load_block(shape, head, farthest + place * shape.tile, buffers);
  visit_queries(shape, strip, [&](int64_t place, Range queries) {
    const float* columns = columns_of_block(shape, place, buffers);
    compute_band_block(shape, place, queries, farthest + place * shape.tile, columns, buffers);
  });
}

template <typename A>
void begin_keys(const AttentionShape& shape, const HeadInputs<A>& head, Range strip, Range keys,
                ScoreBuffers& buffers) {
  prefetch_rows(shape, keys.count, rows_from(head.rows.values, keys.first));
  load_columns(shape, keys.count, rows_from(head.rows.keys, keys.first), buffers.columns.data());
  if (shape.has_distances())
    load_block(shape, head, farthest_distance(shape, strip.first, keys.first) - shape.tile, buffers);
}

BandColumns columns_by_distance(const AttentionShape& shape, const Tile& tile, const float* by_distance) {
  BandColumns band{};
  const int64_t farthest = farthest_distance(shape, tile.queries.first, tile.keys.first);
  const int64_t end = std::min(2 * shape.tile, farthest + 1);  // beyond lies the future, which is hidden
  for (int64_t column = 0; column < end; ++column)
    band[static_cast<size_t>(column)] = by_distance[std::min(farthest - column, shape.biases - 1)];
  return band;
}

template <typename A>
void score_tile(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers) {
  if (shape.has_distances()) advance_band(shape, tile, buffers);
  if (tile.seen == Seen::kNothing) return;
  const Rows<float> scores = buffers.scores(shape, tile);
  const TileGemm product{.depth = shape.width,
                         .a = {rows_of(shape, tile.place, buffers.content_queries), shape.row_stride},
                         .b = buffers.columns.data(),
                         .b_stride = shape.tile,
                         .c = scores.data,
                         .c_stride = scores.stride,
                         .accumulate = shape.has_distances()};
  const auto visit = [&](auto finish) {
    visit_row_blocks(tile.queries.count, [&](Range rows) {
      const Range columns = seen_columns(shape, tile, rows);
      tile_gemm(product.for_rows(rows).for_columns(columns));
      finish(rows, columns);
      hide_unseen(shape, tile, rows, columns, scores);
    });
  };
  if (head.distance_bias != nullptr) {
    const BandColumns band = columns_by_distance(shape, tile, head.distance_bias);
    return visit([&](Range rows, Range columns) { add_biases(shape, band, rows, columns, scores); });
  }
  if (head.distance_gain == nullptr) return visit([](Range, Range) {});
  const BandColumns band = columns_by_distance(shape, tile, head.distance_gain);
  const Rows<float> rectified = buffers.rectified(shape, tile);
  visit([&](Range rows, Range columns) { apply_gains(shape, band, rows, columns, scores, rectified); });
}

template void begin_scores(const AttentionShape&, const HeadInputs<float>&, Range, ScoreBuffers&);
template void begin_scores(const AttentionShape&, const HeadInputs<BFloat16>&, Range, ScoreBuffers&);
template void begin_bands(const AttentionShape&, const HeadInputs<float>&, Range, Range, ScoreBuffers&);
template void begin_bands(const AttentionShape&, const HeadInputs<BFloat16>&, Range, Range, ScoreBuffers&);
template void begin_keys(const AttentionShape&, const HeadInputs<float>&, Range, Range, ScoreBuffers&);
template void begin_keys(const AttentionShape&, const HeadInputs<BFloat16>&, Range, Range, ScoreBuffers&);
template void score_tile(const AttentionShape&, const HeadInputs<float>&, const Tile&, ScoreBuffers&);
template void score_tile(const AttentionShape&, const HeadInputs<BFloat16>&, const Tile&, ScoreBuffers&);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
