// The lists of a schedule against the predicate that it is made from.
#include "kernels/tile_schedule.h"

#include <set>

#include "tests/kernels/patterns.h"

namespace segue::kernels {

namespace {

// The pairs (row, column) that lists name: of tiles of rows and the tiles of columns they meet.
class ListedPairs {
 public:
  ListedPairs(const VisibleTiles& tiles, const TileLists& lists, bool rows_are_queries)
      : tiles_(tiles), lists_(lists), rows_are_queries_(rows_are_queries) {}

  // Those of a group as (query, other), each of which has to be named once.
  std::set<std::pair<int64_t, int64_t>> of_group(int64_t group) const {
    std::set<std::pair<int64_t, int64_t>> pairs;
    const int64_t count = lists_.starts.shape[1] - 1;
    const int32_t* starts = lists_.starts.as<int32_t>() + group * (count + 1);
    for (int64_t tile = 0; tile < count; ++tile) {
      for (int32_t entry = starts[tile]; entry < starts[tile + 1]; ++entry) add_entry(tile, entry, starts[tile], pairs);
    }
    return pairs;
  }

 private:
  void add_entry(int64_t tile, int32_t entry, int32_t first, std::set<std::pair<int64_t, int64_t>>& pairs) const {
    const int32_t* values = lists_.entries.as<int32_t>() + 2 * entry;
    EXPECT_TRUE(entry == first || values[-2] < values[0]) << "out of order";
    const int64_t query_tile = rows_are_queries_ ? tile : values[0];
    const int64_t other_tile = rows_are_queries_ ? values[0] : tile;
    size_t found = 0;
    for (int64_t row = 0; row < kScheduleTile; ++row) {
      const int64_t bits = values[1] < 0 ? -1 : tiles_.masks.as<int64_t>()[values[1] * kScheduleTile + row];
      for (int64_t c = 0; c < kScheduleTile; ++c) {
        if ((bits >> c & 1) == 0) continue;
        ++found;
        EXPECT_TRUE(pairs.insert({query_tile * kScheduleTile + row, other_tile * kScheduleTile + c}).second);
      }
    }
    EXPECT_GT(found, 0U) << "a tile with nothing to see";
    EXPECT_EQ(values[1] < 0, found == size_t{kScheduleTile * kScheduleTile}) << "whole tiles have no mask";
  }

  const VisibleTiles& tiles_;
  const TileLists& lists_;
  bool rows_are_queries_;
};

TileSchedule schedule_of(const AttentionCase& c) {
  return TileSchedule(c.t, c.m, c.pattern.first_alike(c.n), [&c](int64_t group, int64_t i, uint64_t* keys) {
    for (int64_t j = 0; j < c.keys(); ++j)
      if (c.sees(group, i, j)) keys[j / 64] |= uint64_t{1} << (j % 64);
  });
}

void expect_predicate(const AttentionCase& c) {
  SCOPED_TRACE(text_of(c));
  const TileSchedule schedule = schedule_of(c);
  const VisibleTiles tiles = schedule.tiles_at(schedule.words().data());
  for (int64_t group = 0; group < tiles.groups; ++group) {
    std::set<std::pair<int64_t, int64_t>> keys, distances;
    for (int64_t i = 0; i < c.t; ++i) {
      for (int64_t j = 0; j < c.keys(); ++j) {
        if (!c.sees(group, i, j)) continue;
        keys.insert({i, j});
        distances.insert({i, c.m + i - j});
      }
    }
    EXPECT_EQ(ListedPairs(tiles, tiles.keys_of_queries, true).of_group(group), keys);
    EXPECT_EQ(ListedPairs(tiles, tiles.queries_of_keys, false).of_group(group), keys);
    EXPECT_EQ(ListedPairs(tiles, tiles.queries_of_distances, false).of_group(group), distances);
    EXPECT_EQ(ListedPairs(tiles, tiles.distances_of_queries, true).of_group(group), distances);
  }
}

TEST(TileSchedule, ListsWhatThePredicateSays) {
  for (const Pattern& pattern : patterns()) {
    for (const int64_t t : {1, 2, 63, 64, 65, 130}) {
      for (const int64_t m : {0, 1, 63, 64, 65, 97, 200})
        expect_predicate({.t = t, .m = m, .n = 3, .pattern = pattern});
    }
  }
}

TEST(TileSchedule, StoresEqualMasksOnce) {
  const AttentionCase window{.t = 1024, .m = 1024, .pattern = newest(256)};
  const TileSchedule schedule = schedule_of(window);
  // Of keys and of distances each: a triangle at the window's end; at the diagonal one of keys, a whole tile of
  // distances.
  EXPECT_EQ(schedule.tiles_at(schedule.words().data()).masks.shape[0], 2);
  EXPECT_EQ(schedule.pairs(), 1024 * 256);
  EXPECT_EQ(schedule.tiles(), 16 * 5);
}

TEST(TileSchedule, SharesTheListsOfGroupsThatSeeTheSame) {
  std::set<int64_t> asked;
  const auto seen_keys = [&asked](int64_t group, int64_t query, uint64_t* keys) {
    asked.insert(group);
    for (int64_t key = query; key >= 0; key -= group % 2 == 0 ? 1 : 3) keys[key / 64] |= uint64_t{1} << (key % 64);
  };
  const TileSchedule apart(130, 0, 4, seen_keys);
  EXPECT_EQ(asked, (std::set<int64_t>{0, 1, 2, 3}));
  asked.clear();
  const TileSchedule shared(130, 0, {0, 1, 0, 1}, seen_keys);
  EXPECT_EQ(asked, (std::set<int64_t>{0, 1}));
  EXPECT_EQ(shared.pairs(), apart.pairs());
  EXPECT_EQ(shared.tiles(), apart.tiles());
  EXPECT_EQ(shared.groups(), 4);
  const VisibleTiles tiles = shared.tiles_at(shared.words().data());
  const VisibleTiles tiles_apart = apart.tiles_at(apart.words().data());
  EXPECT_EQ(tiles.masks.shape, tiles_apart.masks.shape);
  for (const auto lists : {&VisibleTiles::keys_of_queries, &VisibleTiles::queries_of_keys,
                           &VisibleTiles::queries_of_distances, &VisibleTiles::distances_of_queries}) {
    EXPECT_EQ((tiles.*lists).entries.shape[0] * 2, (tiles_apart.*lists).entries.shape[0]);
    for (int64_t group = 0; group < 4; ++group)
      EXPECT_EQ(ListedPairs(tiles, tiles.*lists, true).of_group(group),
                ListedPairs(tiles_apart, tiles_apart.*lists, true).of_group(group));
  }
}

TEST(TileSchedule, RefusesQueriesThatSeeNothingOrTheFuture) {
  const auto refused = [](int64_t group_of, int64_t query_of, uint64_t bits, const std::vector<std::string>& words) {
    expect_contract_error(
        [&] {
          const TileSchedule schedule(5, 3, 2, [&](int64_t group, int64_t query, uint64_t* keys) {
            keys[0] = group == group_of && query == query_of ? bits : 1;
          });
        },
        words);
  };
  refused(1, 4, 0, {"query 4 of group 1", "no key"});
  refused(0, 2, 0x41, {"query 2 of group 0", "key 6", "5"});
}

}  // namespace

}  // namespace segue::kernels
