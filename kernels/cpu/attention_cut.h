// How the scores of a head are cut into tiles of queries and keys, and which part of a tile is visible.
//
// Neighbouring tiles of queries, a strip, meet each tile of keys together, so that keys, values and rows of r come into
// the cache, and are transposed, once for all of them.
//
// Tiles on the diagonal, or at the window's end, are visible in part. A product takes a block of rows at once, and
// leaves out the columns that none of them sees; of the band of distances (attention_tile.h), likewise, a block of rows
// needs a run of columns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/tile_gemm.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// A block of the score matrix.
struct Tile {
  int64_t place = 0;  // of its queries among the tiles of their strip
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

// The key with which the tiles of keys of a strip begin: a multiple of `tile`, so that the tiles of a query are the
// same in any strip.
inline int64_t first_key(const AttentionShape& shape, Range strip) {
  return seen_keys(shape, strip).first / shape.tile * shape.tile;
}

// Whether one of the queries sees this key or one after it.
inline bool sees_beyond(const AttentionShape& shape, Range queries, int64_t key) {
  const Range seen = seen_keys(shape, queries);
  return key < seen.first + seen.count;
}

// Calls visit(keys) for each tile of keys that some of the strip see, in increasing order.
template <typename Visit>
void visit_keys(const AttentionShape& shape, Range strip, Visit visit) {
  const Range seen = seen_keys(shape, strip);
  const int64_t end = seen.first + seen.count;
  for (int64_t key = first_key(shape, strip); key < end; key += shape.tile)
    visit(Range{key, std::min(shape.tile, end - key)});
}

// Calls visit(place, queries) for each tile of the strip's queries.
template <typename Visit>
void visit_queries(const AttentionShape& shape, Range strip, Visit visit) {
  for (int64_t done = 0; done < strip.count; done += shape.tile)
    visit(done / shape.tile, Range{strip.first + done, std::min(shape.tile, strip.count - done)});
}

// Calls visit(tile) for each tile of the strip's queries to which these keys are not all in the future.
template <typename Visit>
void visit_tiles(const AttentionShape& shape, Range strip, Range keys, Visit visit) {
  visit_queries(shape, strip, [&](int64_t place, Range queries) {
    if (sees_beyond(shape, queries, keys.first)) visit(Tile{place, queries, keys});
  });
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

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
