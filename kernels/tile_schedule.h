// Which pairs of query and key attend to each other, as lists of tiles: what a sparse pattern is to the kernels.
//
// Pairs are cut into tiles of kScheduleTile queries and keys, counted from the first query and from the first key of
// the memory. A list names the tiles in which a tile of queries sees something, in increasing order, and for each of
// them the pairs seen: all, or the set bits of a mask. So a kernel spends its time on tiles with something to see, and
// knows no pattern. Equal masks are stored once; a pattern that depends on distances alone has few. Heads that see
// the same share their lists.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/tensor.h"

namespace segue::kernels {

inline constexpr int64_t kScheduleTile = 64;

// For each tile of one axis the tiles of another one that it meets.
struct TileLists {
  ConstTensorView starts;  // [G, tiles + 1] int32: the first entry of each tile's list; the last one's end
  ConstTensorView
      entries;  // [entries, 2] int32: a tile of the other axis, and a row of `masks`; -1: all pairs are seen
};

// The lists of T queries and K = M + T keys. Empty: without lists.
struct VisibleTiles {
  int64_t groups = 0;              // G: 1 when all heads see the same, otherwise N
  TileLists keys_of_queries;       // of each tile of queries
  TileLists queries_of_keys;       // of each tile of keys
  TileLists queries_of_distances;  // of each tile of distances d = M + i - j
  TileLists distances_of_queries;  // of each tile of queries
  ConstTensorView masks;           // [masks, kScheduleTile] int64: of the tile's query, bit c for its key or distance c

  bool empty() const { return groups == 0; }
};

// Makes such lists, on the host.
class TileSchedule {
 public:
  // Sets the bits of the keys that a query sees among `keys` [divide_up(K, 64)], zeros before: bit j % 64 of word j
  // / 64.
  using SeenKeys = std::function<void(int64_t group, int64_t query, uint64_t* keys)>;

  // `first_alike`: of each group the first one that sees the same, which alone is asked what it sees. Throws
  // ContractError for a query that sees no key, or, unless it may look ahead, one after its own, M + query. The lists
  // of distances are of keys up to its own.
  TileSchedule(int64_t queries, int64_t memory, const std::vector<int64_t>& first_alike, const SeenKeys& seen_keys,
               bool ahead = false);
  // Of groups of which each is asked.
  TileSchedule(int64_t queries, int64_t memory, int64_t groups, const SeenKeys& seen_keys, bool ahead = false);

  // All of it in one block, which may be copied to a device; and the views of such a block there.
  const std::vector<int64_t>& words() const { return words_; }
  std::vector<int64_t> take_words() { return std::move(words_); }  // of which it then has none
  VisibleTiles tiles_at(const int64_t* words) const;

  int64_t pairs() const { return pairs_; }  // that are seen, in all groups
  int64_t tiles() const { return tiles_; }  // of queries and keys with something to see, likewise
  int64_t groups() const { return groups_; }

 private:
  struct Place {  // of a list among the words, in int32 from their beginning
    int64_t starts = 0, tiles = 0, entries = 0, count = 0;
  };

  int64_t groups_, pairs_ = 0, tiles_ = 0, masks_ = 0;
  Place keys_of_queries_, queries_of_keys_, queries_of_distances_, distances_of_queries_;
  std::vector<int64_t> words_;
};

}  // namespace segue::kernels
