// What the forward and the backward of fused relative attention share: how the scores of a head are cut into tiles, and
// the scores of one tile.
//
// The position term, and why it costs about one more tile product. Within a tile of queries x keys it depends on the
// query and on the distance d = M + i - j alone, so one product of the tile's queries with a band of r, the few
// distances that occur, gives every position score there is. With distances in decreasing order the scores of query i
// are a run of neighbours in its row of the band, beginning one column earlier than those of query i - 1:
//
//                 block of `tile` distances | the next `tile` distances, nearer
//     query 0     .  .  .  .  .  .  .  .  x | x  x  x  x  x  x  x  x  .
//     query 1     .  .  .  .  .  .  .  x  x | x  x  x  x  x  x  x  .  .         x: of the tile's scores
//     query 2     .  .  .  .  .  .  x  x  x | x  x  x  x  x  x  .  .  .
//
// So these runs are a tile whose rows lie one element less than a row of the band apart, and the product of queries and
// keys is added to them where they are. Each element of a band is of one pair: of the right block, the tile takes those
// that the next one does not.
//
// The next tile of keys is nearer by `tile` distances: its left block is this tile's right block. So each tile computes
// one new block, a product as large as that of queries and keys: three tile products in all where attention without
// positions has two. No shifted copy is made and no [T, K] tensor exists.
//
// Tiles on the diagonal, or at the window's end, are visible in part. A product takes a block of rows at once, and
// leaves out the columns that none of them sees; of the band, likewise, a block of rows needs a run of columns.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/tile_gemm.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// A block of the score matrix.
struct Tile {
  Range queries;
  Range keys;
};

// Distance of the farthest pair a full tile of these queries and keys would hold: column 0 of its band. Column c is
// nearer by c.
inline int64_t farthest_distance(const AttentionShape& shape, int64_t first_query, int64_t first_key) {
  return shape.memory + first_query - first_key + shape.tile - 1;
}

// The keys that one of the queries, at least, sees.
inline Range seen_keys(const AttentionShape& shape, Range queries) {
  const int64_t diagonal = shape.memory + queries.first;
  const int64_t first = shape.window > 0 ? std::max<int64_t>(0, diagonal - shape.window + 1) : 0;
  return {first, diagonal + queries.count - first};
}

// Calls visit(tile) along the seen keys in increasing order; tiles in the future or beyond the window are never met.
template <typename Visit>
void visit_tiles(const AttentionShape& shape, Range queries, Visit visit) {
  const Range seen = seen_keys(shape, queries);
  for (int64_t done = 0; done < seen.count; done += shape.tile)
    visit(Tile{queries, {seen.first + done, std::min(shape.tile, seen.count - done)}});
}

// `range` cut to [0, end), then grown to whole multiples of `step` unless it is empty.
inline Range whole_steps(Range range, int64_t end, int64_t step) {
  const int64_t first = std::clamp<int64_t>(range.first, 0, end);
  const int64_t last = std::clamp<int64_t>(range.first + range.count, first, end);
  const int64_t begin = first / step * step;
  return {begin, last == first ? 0 : (last - begin + step - 1) / step * step};
}

// The tile's columns that some of these of its rows see, in whole vectors.
inline Range seen_columns(const AttentionShape& shape, const Tile& tile, Range rows) {
  const Range seen = seen_keys(shape, {tile.queries.first + rows.first, rows.count});
  return whole_steps({seen.first - tile.keys.first, seen.count}, tile.keys.count, kLanes);
}

// The tile's rows that see some of these of its columns, in whole row blocks: with whole vectors of columns, those row
// blocks whose seen columns hold them.
inline Range seeing_rows(const AttentionShape& shape, const Tile& tile, Range columns) {
  const int64_t first = tile.keys.first + columns.first - shape.memory - tile.queries.first;
  const int64_t last = first + std::min(columns.count, tile.keys.count - columns.first) + shape.window - 1;
  const int64_t end = shape.window > 0 ? last : tile.queries.count;
  const Range rows = whole_steps({first, end - first}, tile.queries.count, kBlockRows);
  return {rows.first, std::min(rows.count, tile.queries.count - rows.first)};
}

// The columns, in whole vectors, of a band's block that hold distances of some of these queries' seen keys. Column 0 is
// `farthest` away.
inline Range band_columns(const AttentionShape& shape, Range queries, int64_t farthest) {
  const int64_t distances = seen_keys(shape, queries).count;
  return whole_steps({farthest - distances + 1, distances}, shape.tile, kLanes);
}

// Those of some queries, in whole row blocks, that see a key at `distance` or farther if there is no window; with one,
// perhaps more.
inline Range rows_at_distances(const AttentionShape& shape, Range queries, int64_t distance) {
  const int64_t farthest = seen_keys(shape, {queries.first, 1}).count - 1;
  const int64_t first = std::max<int64_t>(0, distance - farthest) / kBlockRows * kBlockRows;
  return {first, queries.count - first};
}

// Calls visit(rows) for each block of rows that tile_gemm computes at once.
template <typename Visit>
void visit_row_blocks(int64_t rows, Visit visit) {
  for (int64_t first = 0; first < rows; first += kBlockRows) visit(Range{first, std::min(kBlockRows, rows - first)});
}

// The tile on a band's diagonals.
inline Rows<float> diagonals(const AttentionShape& shape, float* band) {
  return {band + shape.tile - 1, 2 * shape.tile - 1};
}

// The scratch of one thread. A row has row_stride floats in a tile of rows, `tile` in a tile of columns, and 2 * tile
// in the band.
struct ScoreBuffers {
  using RowTile = std::array<float, kTileFloats>;
  using BandTile = std::array<float, 2 * kMaxTile * kMaxTile>;
  alignas(64) RowTile content_queries;   // scale * (q + u)
  alignas(64) RowTile position_queries;  // scale * (q + w)
  alignas(64) RowTile keys;
  alignas(64) std::array<RowTile, 2> positions;  // rows of r for the band's blocks; they take turns
  alignas(64) RowTile columns;                   // the transpose of a tile of rows
  alignas(64) BandTile band;                     // with the tile's scores on its diagonals
  size_t right = 0;                              // which of `positions` belongs to the band's right block

  Rows<float> scores(const AttentionShape& shape) { return diagonals(shape, band.data()); }
  const RowTile& left_positions() const { return positions[1 - right]; }
  const RowTile& right_positions() const { return positions[right]; }
};

// columns[h][row] = rows[row][h], all padding included.
void transpose_rows(const AttentionShape& shape, int64_t count, const float* rows, float* columns);

// e^x for x <= 0, and 0 where that would be subnormal: the processor takes a hundred cycles for each subnormal number,
// and hidden scores, -infinity, would pass through them on their way to 0.
inline float attention_weight(float x) {
  constexpr float kSmallestExponent = -87.0F;
  const ExpParts e = exp_parts(x < kSmallestExponent ? kSmallestExponent : x);
  return x < kSmallestExponent ? 0.0F : e.power * power_of_two(e.exponent);
}

// Before the first tile of some queries: scale * (q + u), scale * (q + w), and the left block of the first band.
template <typename A>
void begin_scores(const AttentionShape& shape, const HeadInputs<A>& head, Range queries, ScoreBuffers& buffers);

// The tile's scores on the diagonals of the band, -infinity where query and key do not see each other; the band moves
// on by one block. Leaves the tile's keys and the positions of the band's blocks in their buffers, those of a block in
// the future as they were.
template <typename A>
void score_tile(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
