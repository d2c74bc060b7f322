// What visibility says in three ways: a predicate, how far it reaches, and tiles.
#include "core/attention/visibility.h"

#include <gtest/gtest.h>

#include "tests/core/model/small_model.h"

namespace segue {
namespace {

using enum PatternKind;

ModelUse patterns_of(std::vector<PatternConfig> patterns) {
  ModelUse use{.mem_len = 40};
  use.patterns = std::move(patterns);
  return use;
}

std::vector<int64_t> seen_distances(const ModelUse& use, int64_t head, int64_t below) {
  std::vector<int64_t> distances;
  for (int64_t distance = 0; distance < below; ++distance)
    if (sees(use, head, distance)) distances.push_back(distance);
  return distances;
}

TEST(Visibility, PatternsNameDistances) {
  using Distances = std::vector<int64_t>;
  EXPECT_EQ(seen_distances(patterns_of({{.window = 3}}), 0, 20), (Distances{0, 1, 2}));
  EXPECT_EQ(seen_distances(patterns_of({{.kind = kDilated, .window = 3, .stride = 5}}), 0, 20), (Distances{0, 5, 10}));
  EXPECT_EQ(seen_distances(patterns_of({{.kind = kStrided, .stride = 7}}), 0, 20), (Distances{0, 7, 14}));
  const ModelUse both = patterns_of({{.heads = {0}, .window = 2}, {.kind = kStrided, .heads = {0, 1}, .stride = 6}});
  EXPECT_EQ(seen_distances(both, 0, 20), (Distances{0, 1, 6, 12, 18}));
  EXPECT_EQ(seen_distances(both, 1, 20), (Distances{0, 6, 12, 18}));
  EXPECT_FALSE(sees(both, 0, -6));
  EXPECT_EQ(seen_distances({.mem_len = 3, .same_length = true}, 0, 20), (Distances{0, 1, 2}));
  EXPECT_EQ(seen_distances({.window = 2}, 0, 20), (Distances{0, 1}));
}

TEST(Visibility, ReachesAsFarAsItsFarthestPattern) {
  EXPECT_EQ(keys_in_reach(patterns_of({{.window = 3}, {.kind = kDilated, .window = 3, .stride = 5}})), 11);
  EXPECT_EQ(keys_in_reach(patterns_of({{.window = 3}, {.kind = kStrided, .stride = 5}})), 0);
  EXPECT_EQ(keys_in_reach({.window = 4}), 4);
  EXPECT_EQ(keys_in_reach({.mem_len = 9}), 0);
}

// The pairs that lists of a schedule hold, of one group.
int64_t bit_of(const kernels::VisibleTiles& tiles, int64_t group, int64_t query, int64_t key) {
  const kernels::TileLists& lists = tiles.keys_of_queries;
  const int32_t* starts = lists.starts.as<int32_t>() + group * lists.starts.shape[1] + query / 64;
  for (int32_t entry = starts[0]; entry < starts[1]; ++entry) {
    const int32_t* tile = lists.entries.as<int32_t>() + 2 * entry;
    if (tile[0] != key / 64) continue;
    return tile[1] < 0 ? 1 : tiles.masks.as<int64_t>()[tile[1] * 64 + query % 64] >> (key % 64) & 1;
  }
  return 0;
}

TEST(Visibility, TilesHoldWhatThePredicateSays) {
  const std::vector<ModelUse> uses{
      patterns_of({{.window = 3}}), patterns_of({{.kind = kDilated, .window = 30, .stride = 5}}),
      patterns_of({{.kind = kStrided, .heads = {2, 1}, .stride = 64}, {.heads = {0}, .window = 70}})};
  for (const ModelUse& use : uses) {
    for (const int64_t tgt_len : {1, 5, 64, 130}) {
      for (const int64_t memory : {0, 1, 40, 64, 100}) {
        const auto schedule = schedule_of(use, 3, tgt_len, memory);
        ASSERT_TRUE(schedule.has_value());
        EXPECT_EQ(schedule->groups(), use.patterns[0].heads.empty() ? 1 : 3);
        const kernels::VisibleTiles tiles = schedule->tiles_at(schedule->words().data());
        for (int64_t head = 0; head < schedule->groups(); ++head) {
          for (int64_t i = 0; i < tgt_len; ++i) {
            for (int64_t j = 0; j < memory + tgt_len; ++j)
              ASSERT_EQ(bit_of(tiles, head, i, j) != 0, sees(use, head, memory + i - j))
                  << head << ' ' << i << ' ' << j << " of " << tgt_len << " and " << memory;
          }
        }
      }
    }
  }
  EXPECT_FALSE(schedule_of({.window = 3}, 3, 5, 5).has_value());
}

}  // namespace
}  // namespace segue
