// What the forward and the backward of fused relative attention share: the scores of one tile.
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
// The block that is new to one tile of queries was new to the one before it in their strip a tile of keys ago.
//
// Without distance terms there is no band: a tile's scores are one product. Biases and gains by distance, which need
// none, are laid out in the order of a band's columns, so that each row of scores takes a run of them. Rectified
// scores, which gains multiply, are kept where a band would have its second half.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/attention_cut.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// The tile on a band's diagonals, or in its place.
inline Rows<float> diagonals(const AttentionShape& shape, float* band) {
  if (!shape.has_distances()) return {band, shape.tile};
  return {band + shape.tile - 1, 2 * shape.tile - 1};
}

using RowTile = std::array<float, kTileFloats>;
using BandTile = std::array<float, 2 * kMaxTile * kMaxTile>;

// The scratch of one thread. A row has row_stride floats in a tile of rows, `tile` in a tile of columns, and 2 * tile
// in a band. What belongs to queries holds those of a strip.
struct ScoreBuffers {
  alignas(64) RowTile content_queries;   // scale * (q + u)
  alignas(64) RowTile position_queries;  // scale * (q + w)
  alignas(64) RowTile columns;           // the transpose of a tile of keys
  alignas(64) RowTile distances;  // transposes of rows of r for as many blocks as a strip has tiles; they take turns
  alignas(64) std::array<BandTile, kMaxStripTiles> bands;  // with the tile's scores on their diagonals
  int64_t blocks = 0;                                      // of distances that have come since the strip began

  // Which of `turns` slots that blocks fill in turn holds the block of this age: 0 came last, 1 before it.
  int64_t turn(int64_t age, int64_t turns) const { return (blocks - 1 - age) % turns; }
  Rows<float> scores(const AttentionShape& shape, const Tile& tile) {
    return diagonals(shape, bands[static_cast<size_t>(tile.place)].data());
  }
  Rows<float> rectified(const AttentionShape& shape, const Tile& tile) {
    return {bands[static_cast<size_t>(tile.place)].data() + shape.tile * shape.tile, shape.tile};
  }
};

// The biases or gains of a tile's distances: column c is nearer by c than the farthest.
using BandColumns = std::array<float, 2 * kMaxTile>;
BandColumns columns_by_distance(const AttentionShape& shape, const Tile& tile, const float* by_distance);

// Those of row `row` of the tile, from its column `first` on.
inline const float* run_of(const AttentionShape& shape, const BandColumns& band, int64_t row, int64_t first) {
  return band.data() + shape.tile - 1 - row + first;
}

// Where a strip's tile of queries begins in a tile of rows.
template <typename AnyTile>
auto rows_of(const AttentionShape& shape, int64_t place, AnyTile& rows) {
  return rows.data() + place * shape.tile * shape.row_stride;
}

// The rows of r for the distances farthest, farthest - 1, ... Distances beyond the last row of r read that row (the
// clamp); those in the future, which are masked later and only have to be numbers, are zeros.
template <typename A>
auto positions_from(const AttentionShape& shape, const HeadInputs<A>& head, int64_t farthest) {
  return [&shape, &head, farthest](int64_t column) -> const A* {
    const int64_t distance = farthest - column;
    return distance < 0 ? nullptr : head.positions(std::min(distance, shape.positions - 1));
  };
}

// columns[h][row] = row_at(row)[h] for rows 0 .. count - 1, all padding included.
template <typename RowAt>
void load_columns(const AttentionShape& shape, int64_t count, RowAt row_at, float* columns) {
  alignas(64) std::array<float, kLanes * kMaxHeadWidth> rows;
  for (int64_t row = 0; row < count; row += kLanes) {
    load_rows(shape, std::min(kLanes, count - row), rows_from(row_at, row), rows.data());
    for (int64_t h = 0; h < shape.width; h += kLanes)
      transpose_square(rows.data() + h, shape.row_stride, columns + h * shape.tile + row, shape.tile);
  }
}

// e^x for x <= 0, and 0 where that would be subnormal: the processor takes a hundred cycles for each subnormal number,
// and hidden scores, -infinity, would pass through them on their way to 0.
inline float attention_weight(float x) {
  constexpr float kSmallestExponent = -87.0F;
  const ExpParts e = exp_parts(x < kSmallestExponent ? kSmallestExponent : x);
  return x < kSmallestExponent ? 0.0F : e.power * power_of_two(e.exponent);
}

// Before the first keys of a strip: scale * (q + u) and scale * (q + w).
template <typename A>
void begin_scores(const AttentionShape& shape, const HeadInputs<A>& head, Range strip, ScoreBuffers& buffers);

// Before keys to which no tile of the strip came from those before them: the left blocks of their bands, if there are
// distance terms.
template <typename A>
void begin_bands(const AttentionShape& shape, const HeadInputs<A>& head, Range strip, Range keys,
                 ScoreBuffers& buffers);

// Before the tiles of these keys: their columns, and those of the block of distances that is new to the strip. `blocks`
// counts it also if it lies altogether in the future, though it is left as it was. Values are on their way meanwhile.
template <typename A>
void begin_keys(const AttentionShape& shape, const HeadInputs<A>& head, Range strip, Range keys, ScoreBuffers& buffers);

// The tile's scores on the diagonals of its band, with the biases or the gains of their distances if there are some,
// and -infinity where query and key do not see each other. The band has moved on by one block; nothing else happens
// when the tile has nothing to see.
template <typename A>
void score_tile(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
