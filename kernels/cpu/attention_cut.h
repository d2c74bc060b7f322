// How the scores of a head are cut into tiles of queries and keys, and which part of a tile is visible.
//
// Neighbouring tiles of queries, a strip, meet each tile of keys together, so that keys, values and rows of r come into
// the cache, and are transposed, once for all of them.
//
// Tiles on the diagonal, or at the window's end, are visible in part. A product takes a block of rows at once, and
// leaves out the columns that none of them sees; of the band of distances (attention_tile.h), likewise, a block of rows
// needs a run of columns. Of a schedule (kernels/tile_schedule.h) a strip meets the tiles that one of its own lists,
// and computes of them all that its queries' sight leaves. None before the reach of its queries is met or computed, and
// none after what they see ahead.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/attention_rows.h"
#include "kernels/cpu/tile_gemm.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// Which pairs of a tile are seen: those that the distance says, or what a schedule lists.
enum class Seen : uint8_t { kByDistance, kAll, kMasked, kNothing };

// A block of the score matrix.
struct Tile {
  int64_t place = 0;  // of its queries among the tiles of their strip
  Range queries;
  Range keys;
  bool ends = false;  // whether the queries meet no keys behind these
  Seen seen = Seen::kByDistance;
  const int64_t* mask = nullptr;  // of a masked tile: a row for each query, whose bit `first_bit` is of the first key
  int64_t first_bit = 0;
  Sight sight;  // of all queries
};

// Keys that a strip meets.
struct KeyTile {
  Range keys;
  bool begins = false;  // whether the strip does not meet the keys before these
  bool ends = false;    // whether it meets none right behind
  int64_t next = 0;     // the first key of those that it meets next; K if there are none
  std::array<const int32_t*, kMaxStripTiles>
      entries{};  // with a schedule, what lists them for each of its tiles, or null
};

// Distance of the farthest pair a full tile of these queries and keys would hold: column 0 of its band. Column c is
// nearer by c.
inline int64_t farthest_distance(const AttentionShape& shape, int64_t first_query, int64_t first_key) {
  return shape.memory + first_query - first_key + shape.tile - 1;
}

// The first key that the reach of a query leaves to it. That of the next query is never before.
inline int64_t first_in_reach(const AttentionShape& shape, const Sight& sight, int64_t query) {
  return sight.reach == nullptr ? 0 : std::max<int64_t>(0, shape.memory + query - sight.reach[query]);
}

// The key after the last that a query may see. That of the next query is never before.
inline int64_t end_of_sight(const AttentionShape& shape, const Sight& sight, int64_t query) {
  const int64_t ahead = sight.ahead == nullptr ? 0 : sight.ahead[query];
  return std::min(shape.memory + query + 1 + ahead, shape.keys());
}

// The keys that one of the queries, at least, sees by its sight and the window.
inline Range seen_keys(const AttentionShape& shape, Range queries, const Sight& sight = {}) {
  const int64_t diagonal = shape.memory + queries.first;
  const int64_t in_window = shape.window > 0 ? std::max<int64_t>(0, diagonal - shape.window + 1) : 0;
  const int64_t first = std::max(in_window, first_in_reach(shape, sight, queries.first));
  return {first, end_of_sight(shape, sight, queries.first + queries.count - 1) - first};
}

// Calls visit(place, queries) for each tile of the strip's queries.
template <typename Visit>
void visit_queries(const AttentionShape& shape, Range strip, Visit visit) {
  for (int64_t done = 0; done < strip.count; done += shape.tile)
    visit(done / shape.tile, Range{strip.first + done, std::min(shape.tile, strip.count - done)});
}

// The entries of the lists of a strip's tiles that are yet to come.
class StripLists {
 public:
  StripLists(const AttentionShape& shape, const HeadTiles& tiles, Range strip) {
    visit_queries(shape, strip, [&](int64_t, Range queries) {
      const int32_t* starts = tiles.starts + queries.first / kScheduleTile;
      lists_[count_++] = {tiles.entries + int64_t{2} * starts[0], tiles.entries + int64_t{2} * starts[1]};
    });
  }
  // The first listed key from `key` on, which only grows; `none` if there is none.
  int64_t next(int64_t key, int64_t none) {
    int64_t first = none;
    for (List& list : lists_) {
      while (list.entry != list.end && (list.entry[0] + 1) * kScheduleTile <= key) list.entry += 2;
      if (list.entry != list.end) first = std::min(first, std::max(key, list.entry[0] * kScheduleTile));
    }
    return first;
  }
  // The entries that hold this key, after next(key).
  std::array<const int32_t*, kMaxStripTiles> entries_at(int64_t key) const {
    std::array<const int32_t*, kMaxStripTiles> entries{};
    for (size_t place = 0; place < count_; ++place) {
      const List& list = lists_[place];
      if (list.entry != list.end && list.entry[0] == key / kScheduleTile) entries[place] = list.entry;
    }
    return entries;
  }

 private:
  struct List {
    const int32_t* entry = nullptr;
    const int32_t* end = nullptr;
  };
  std::array<List, kMaxStripTiles> lists_{};
  size_t count_ = 0;
};

// The first key that a strip meets.
inline int64_t first_met(const AttentionShape& shape, const HeadTiles& tiles, Range strip) {
  if (tiles.empty()) return seen_keys(shape, strip, tiles.sight).first / shape.tile * shape.tile;
  const int64_t begin = first_in_reach(shape, tiles.sight, strip.first) / shape.tile * shape.tile;
  return StripLists(shape, tiles, strip).next(begin, shape.keys());
}

// As visit_keys, of a schedule.
template <typename Visit>
void visit_listed_keys(const AttentionShape& shape, const HeadTiles& tiles, Range strip, Visit visit) {
  StripLists lists(shape, tiles, strip);
  int64_t before = -1;  // where the keys behind those before begin
  const int64_t begin = first_in_reach(shape, tiles.sight, strip.first) / shape.tile * shape.tile;
  const int64_t end = end_of_sight(shape, tiles.sight, strip.first + strip.count - 1);
  for (int64_t key = lists.next(begin, end); key < end;) {
    KeyTile found{.keys = {key, std::min(shape.tile, shape.keys() - key)},
                  .begins = key != before,
                  .entries = lists.entries_at(key)};
    before = key + shape.tile;
    key = lists.next(before, end);
    found.next = key < end ? key : shape.keys();
    found.ends = key != before || key >= end;
    visit(found);
  }
}

// Calls visit(tile of keys) for each that some of the strip see, in increasing order. They begin at multiples of
// `tile`, so that those of a query are the same in any strip.
template <typename Visit>
void visit_keys(const AttentionShape& shape, const HeadTiles& tiles, Range strip, Visit visit) {
  if (!tiles.empty()) return visit_listed_keys(shape, tiles, strip, visit);
  const Range seen = seen_keys(shape, strip, tiles.sight);
  const int64_t first = seen.first / shape.tile * shape.tile;
  const int64_t end = seen.first + seen.count;
  for (int64_t key = first; key < end; key += shape.tile) {
    const bool ends = key + shape.tile >= end;
    visit(KeyTile{.keys = {key, std::min(shape.tile, end - key)},
                  .begins = key == first,
                  .ends = ends,
                  .next = ends ? shape.keys() : key + shape.tile});
  }
}

// Calls visit(tile) for each tile of the strip's queries that see as far as these keys; with a schedule for every one,
// also if it sees nothing of them.
template <typename Visit>
void visit_tiles(const AttentionShape& shape, const HeadTiles& tiles, Range strip, const KeyTile& found, Visit visit) {
  visit_queries(shape, strip, [&](int64_t place, Range queries) {
    Tile tile{.place = place, .queries = queries, .keys = found.keys, .sight = tiles.sight};
    const bool is_in_reach = first_in_reach(shape, tiles.sight, queries.first) < found.keys.first + found.keys.count;
    const int64_t end = end_of_sight(shape, tiles.sight, queries.first + queries.count - 1);
    if (tiles.empty()) {
      tile.ends = found.keys.first + shape.tile >= end;
      if (!is_in_reach) tile.seen = Seen::kNothing;
      if (found.keys.first < end) visit(tile);
      return;
    }
    const int32_t* entry = found.entries[static_cast<size_t>(place)];
    tile.ends = found.ends;
    const bool is_in_sight = is_in_reach && found.keys.first < end;
    tile.seen = entry == nullptr || !is_in_sight ? Seen::kNothing : entry[1] < 0 ? Seen::kAll : Seen::kMasked;
    if (tile.seen == Seen::kMasked) {
      tile.mask = tiles.masks + entry[1] * kScheduleTile + queries.first % kScheduleTile;
      tile.first_bit = found.keys.first % kScheduleTile;
    }
    visit(tile);
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
  const Range seen = seen_keys(shape, {tile.queries.first + rows.first, rows.count}, tile.sight);
  return whole_steps({seen.first - tile.keys.first, seen.count}, tile.keys.count, kLanes);
}

// The tile's rows that see some of these of its columns, in whole row blocks: with whole vectors of columns, those row
// blocks whose seen columns hold them.
inline Range seeing_rows(const AttentionShape& shape, const Tile& tile, Range columns) {
  const int64_t first_key = tile.keys.first + columns.first;
  const int64_t last_key = tile.keys.first + std::min(columns.first + columns.count, tile.keys.count) - 1;
  const int64_t own = first_key - shape.memory - tile.queries.first;  // the row whose own key is the first
  const int64_t end = shape.window > 0 ? last_key - first_key + own + shape.window : tile.queries.count;
  const int64_t first = tile.sight.ahead == nullptr ? own : 0;
  const Range rows = whole_steps({first, end - first}, tile.queries.count, kBlockRows);
  const int64_t last = tile.queries.first + tile.queries.count - 1;
  int64_t begin = tile.queries.first + rows.first;  // of whole blocks, as `past`
  int64_t past = begin + rows.count;
  while (begin < past && end_of_sight(shape, tile.sight, std::min(begin + kBlockRows - 1, last)) <= first_key)
    begin += kBlockRows;
  while (begin < past && first_in_reach(shape, tile.sight, past - kBlockRows) > last_key) past -= kBlockRows;
  return {begin - tile.queries.first, std::min(past, last + 1) - begin};
}

// The columns, in whole vectors, of a band's block that hold distances of some of these queries' seen keys. Column 0 is
// `farthest` away. With a schedule all that are not in the future.
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
