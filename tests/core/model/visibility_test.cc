// What visibility says in three ways: keys of a query, how far it reaches, and tiles.
#include "core/attention/visibility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bits.h"
#include "core/config/visibility_kind.h"
#include "tests/core/model/small_model.h"
#include "tests/oracle/segments.h"

namespace segue {
namespace {

using enum PatternKind;

ModelUse patterns_of(std::vector<PatternConfig> patterns) {
  ModelUse use{.mem_len = 40};
  use.patterns = std::move(patterns);
  return use;
}

using Positions = std::vector<int64_t>;

// Of a stream's tokens those that a head sees from `position`, of which it has seen all.
Positions seen_from(const ModelUse& use, int64_t head, int64_t position) {
  std::vector<uint64_t> bits(static_cast<size_t>(position / 64 + 1));
  see_keys(use, head, position, position + 1, bits);
  Positions seen;
  for (int64_t key = 0; key <= position; ++key)
    if (bits_from(bits, key) & 1) seen.push_back(key);
  return seen;
}

TEST(Visibility, PatternsNameDistances) {
  EXPECT_EQ(seen_from(patterns_of({{.window = 3}}), 0, 19), (Positions{17, 18, 19}));
  EXPECT_EQ(seen_from(patterns_of({{.kind = kDilated, .window = 3, .stride = 5}}), 0, 19), (Positions{9, 14, 19}));
  EXPECT_EQ(seen_from(patterns_of({{.kind = kStrided, .stride = 7}}), 0, 19), (Positions{5, 12, 19}));
  const ModelUse both = patterns_of({{.heads = {0}, .window = 2}, {.kind = kStrided, .heads = {0, 1}, .stride = 6}});
  EXPECT_EQ(seen_from(both, 0, 19), (Positions{1, 7, 13, 18, 19}));
  EXPECT_EQ(seen_from(both, 1, 19), (Positions{1, 7, 13, 19}));
  EXPECT_EQ(seen_from({.mem_len = 3, .same_length = true}, 0, 19), (Positions{17, 18, 19}));
  EXPECT_EQ(seen_from({.window = 2}, 0, 19), (Positions{18, 19}));
}

TEST(Visibility, PatternsNamePositions) {
  const ModelUse blocks = patterns_of({{.kind = kBlocks, .block = 4, .before = 2}});
  EXPECT_EQ(seen_from(blocks, 0, 8), (Positions{6, 7, 8}));
  EXPECT_EQ(seen_from(blocks, 0, 11), (Positions{6, 7, 8, 9, 10, 11}));
  const ModelUse shifted = patterns_of({{.kind = kBlockwise, .block = 4, .shift = 2}});
  EXPECT_EQ(seen_from(shifted, 0, 7), (Positions{7})) << "a query sees itself, whatever there is before it";
  EXPECT_EQ(seen_from(shifted, 0, 10), (Positions{0, 1, 2, 3, 10}));
  EXPECT_EQ(seen_from(patterns_of({{.kind = kBlockwise, .block = 4, .shift = 0}}), 0, 10), (Positions{8, 9, 10}));
  const ModelUse fixed = patterns_of({{.kind = kFixed, .period = 5, .from = 2, .columns = 2}});
  EXPECT_EQ(seen_from(fixed, 0, 1), (Positions{1}));
  EXPECT_EQ(seen_from(fixed, 0, 12), (Positions{2, 3, 7, 8, 12}));
  EXPECT_EQ(seen_from(fixed, 0, 14), (Positions{2, 3, 7, 8, 12, 13, 14}));
  const ModelUse global = patterns_of({{.kind = kGlobal, .period = 5, .columns = 1}});
  EXPECT_EQ(seen_from(global, 0, 8), (Positions{0, 5, 8}));
  EXPECT_EQ(seen_from(global, 0, 5), (Positions{0, 1, 2, 3, 4, 5})) << "from a global position all is seen";
}

TEST(Visibility, DrawsBlocksForEachBlockHeadAndLayer) {
  const PatternConfig pattern{.kind = kRandom, .block = 4, .period = 32, .count = 2, .nearest = 1, .farthest = 6};
  for (int64_t block = 0; block < 8; ++block) {
    std::vector<int64_t> drawn = drawn_blocks(pattern, {.head = 1}, block);
    EXPECT_EQ(drawn, drawn_blocks(pattern, {.head = 1}, block));
    std::ranges::sort(drawn);
    EXPECT_TRUE(1 <= drawn[0] && drawn[0] < drawn[1] && drawn[1] <= 6) << block;
    Positions expected;
    const int64_t position = 4 * (block + 8) + 3;  // a period on
    for (const int64_t back : {drawn[1], drawn[0]})
      for (int64_t i = 0; i < 4; ++i) expected.push_back(4 * (block + 8 - back) + i);
    expected.push_back(position);
    EXPECT_EQ(seen_from(patterns_of({pattern}), 1, position), expected) << block;
  }
  const auto draws = [](const PatternConfig& of, const DrawnFor& whom) {
    std::vector<std::vector<int64_t>> all;
    for (int64_t block = 0; block < 8; ++block) all.push_back(drawn_blocks(of, whom, block));
    return all;
  };
  PatternConfig other_seed = pattern;
  other_seed.seed = 2;
  const std::set<std::vector<std::vector<int64_t>>> different{draws(pattern, {}), draws(pattern, {.layer = 1}),
                                                              draws(pattern, {.pattern = 1}),
                                                              draws(pattern, {.head = 1}), draws(other_seed, {})};
  EXPECT_EQ(different.size(), 5U);
}

// They are part of trained models: a checkpoint would see other blocks by other draws.
TEST(Visibility, DrawsWhatItAlwaysDrew) {
  const PatternConfig pattern{.kind = kRandom, .count = 3, .nearest = 2, .farthest = 8, .seed = 5};
  EXPECT_EQ(drawn_blocks(pattern, {}, 0), (Positions{3, 2, 6}));
  EXPECT_EQ(drawn_blocks(pattern, {.layer = 3, .pattern = 1, .head = 7}, 11), (Positions{5, 6, 2}));
}

// Three of seven: 35 sets, each as likely. The statistic has 34 degrees of freedom; 65 is its one in a thousand.
TEST(Visibility, DrawsEverySetOfBlocksAsOften) {
  const PatternConfig pattern{.kind = kRandom, .count = 3, .nearest = 2, .farthest = 8};
  std::map<std::set<int64_t>, int64_t> times;
  constexpr int64_t kDraws = 35000;
  for (int64_t block = 0; block < kDraws; ++block) {
    const std::vector<int64_t> drawn = drawn_blocks(pattern, {}, block);
    ++times[{drawn.begin(), drawn.end()}];
  }
  ASSERT_EQ(times.size(), 35U);
  double statistic = 0.0;
  for (const auto& [set, count] : times) statistic += std::pow(static_cast<double>(count) - 1000.0, 2) / 1000.0;
  EXPECT_LT(statistic, 65.0);
}

TEST(Visibility, AllDrawnIsAWindowOfBlocks) {
  const ModelUse all =
      patterns_of({{.kind = kBlocks, .block = 4, .before = 0},
                   {.kind = kRandom, .block = 4, .period = 8, .count = 3, .nearest = 1, .farthest = 3}});
  const ModelUse blocks = patterns_of({{.kind = kBlocks, .block = 4, .before = 12}});
  for (int64_t position = 0; position < 40; ++position)
    EXPECT_EQ(seen_from(all, 0, position), seen_from(blocks, 0, position)) << position;
}

TEST(Visibility, ReachesAsFarAsItsFarthestPattern) {
  const auto keys_at = [](std::vector<PatternConfig> patterns, int64_t position) {
    return keys_in_reach(patterns_of(std::move(patterns)), position);
  };
  EXPECT_EQ(keys_at({{.window = 3}, {.kind = kDilated, .window = 3, .stride = 5}}, 7), 11);
  EXPECT_EQ(keys_at({{.window = 3}, {.kind = kStrided, .stride = 5}}, 7), 0);
  EXPECT_EQ(keys_at({{.kind = kBlocks, .block = 4, .before = 2}}, 8), 3);
  EXPECT_EQ(keys_at({{.kind = kBlocks, .block = 4, .before = 2}}, 11), 6);
  EXPECT_EQ(keys_at({{.kind = kBlockwise, .block = 4, .shift = 2}}, 8), 9);
  EXPECT_EQ(keys_at({{.kind = kBlockwise, .block = 4, .shift = 2}}, 11), 12);
  EXPECT_EQ(keys_at({{.kind = kRandom, .block = 4, .period = 16, .farthest = 3}}, 13), 14);
  EXPECT_EQ(keys_at({{.kind = kFixed}}, 0), 0);
  EXPECT_EQ(keys_at({{.kind = kGlobal}}, 0), 0);
  EXPECT_EQ(keys_in_reach({.window = 4}, 0), 4);
  EXPECT_EQ(keys_in_reach({.mem_len = 9}, 0), 0);
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

struct TilesCase {
  std::string name;
  std::vector<PatternConfig> patterns;
  int64_t groups = 1;
};
void PrintTo(const TilesCase& c, std::ostream* out) { *out << c.name; }

class TilesOf : public testing::TestWithParam<TilesCase> {};
INSTANTIATE_TEST_SUITE_P(
    Patterns, TilesOf,
    testing::Values(
        TilesCase{"window", {{.window = 3}}}, TilesCase{"dilated", {{.kind = kDilated, .window = 30, .stride = 5}}},
        TilesCase{
            "strided_and_window", {{.kind = kStrided, .heads = {2, 1}, .stride = 64}, {.heads = {0}, .window = 70}}, 3},
        TilesCase{"blocks", {{.kind = kBlocks, .block = 10, .before = 5}}},
        TilesCase{"long_blocks", {{.kind = kBlocks, .block = 130, .before = 70}}},
        TilesCase{"blockwise",
                  {{.kind = kBlockwise, .heads = {0}, .block = 65, .shift = 0},
                   {.kind = kBlockwise, .heads = {1, 2}, .block = 13, .shift = 3}},
                  3},
        TilesCase{
            "fixed",
            {{.kind = kFixed, .period = 13, .from = 10, .columns = 3}, {.kind = kBlocks, .block = 13, .before = 0}}},
        TilesCase{"fixed_of_one_column", {{.kind = kFixed, .period = 65, .from = 0, .columns = 1}}},
        TilesCase{"global", {{.kind = kGlobal, .period = 26, .columns = 2}, {.window = 9}}},
        TilesCase{
            "random", {{.kind = kRandom, .block = 5, .period = 130, .count = 3, .nearest = 1, .farthest = 11}}, 3}),
    [](const auto& case_info) { return case_info.param.name; });

void expect_tiles_of_oracle(const TilesCase& c, bool ahead) {
  ModelUse use = patterns_of(c.patterns);
  use.ahead = ahead;
  const oracle::Visibility sees =
      oracle::segment_mask({.kind = VisibilityKind::kSparse, .patterns = use.patterns}, 0, 0, ahead);
  const int64_t period = repeats_after(use);
  for (const int64_t tgt_len : {1, 5, 64, 130}) {
    for (const int64_t memory : {0, 1, 40, 64, 100}) {
      // Whole segments begin where periods do; single tokens, and what is left of a segment, stand anywhere.
      for (int64_t first = 0; first < period; first += tgt_len == 1 ? 1 : std::max<int64_t>(period / 3, 1)) {
        const auto schedule = schedule_of(use, 3, tgt_len, memory, first);
        ASSERT_TRUE(schedule.has_value());
        EXPECT_EQ(schedule->groups(), c.groups);
        const kernels::VisibleTiles tiles = schedule->tiles_at(schedule->words().data());
        for (int64_t head = 0; head < schedule->groups(); ++head) {
          for (int64_t i = 0; i < tgt_len; ++i) {
            for (int64_t j = 0; j < memory + tgt_len; ++j)
              ASSERT_EQ(bit_of(tiles, head, i, j) != 0, sees(head, first + i, first + j - memory))
                  << head << ' ' << i << ' ' << j << " of " << tgt_len << " and " << memory << " from " << first;
          }
        }
      }
    }
  }
}

TEST_P(TilesOf, HoldWhatTheOracleSeesAtEveryPhase) { expect_tiles_of_oracle(GetParam(), false); }

TEST_P(TilesOf, HoldWhatTheOracleSeesAheadAtEveryPhase) { expect_tiles_of_oracle(GetParam(), true); }

TEST(Visibility, PatternsNameKeysAhead) {
  const auto seen_of_twelve = [](PatternConfig pattern, int64_t position) {
    ModelUse use = patterns_of({std::move(pattern)});
    use.ahead = true;
    std::vector<uint64_t> bits(1);
    see_keys(use, 0, position, position + 1, bits, 11 - position);
    Positions seen;
    for (int64_t key = 0; key < 12; ++key)
      if (bits_from(bits, key) & 1) seen.push_back(key);
    return seen;
  };
  EXPECT_EQ(seen_of_twelve({.window = 3}, 5), (Positions{3, 4, 5, 6, 7}));
  EXPECT_EQ(seen_of_twelve({.kind = kDilated, .window = 2, .stride = 4}, 5), (Positions{1, 5, 9}));
  EXPECT_EQ(seen_of_twelve({.kind = kStrided, .stride = 3}, 5), (Positions{2, 5, 8, 11}));
  EXPECT_EQ(seen_of_twelve({.kind = kBlocks, .block = 4, .before = 1}, 5), (Positions{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(seen_of_twelve({.kind = kBlockwise, .block = 4, .shift = 0}, 5), (Positions{4, 5, 6, 7}));
  EXPECT_EQ(seen_of_twelve({.kind = kFixed, .period = 4, .from = 3, .columns = 1}, 5), (Positions{3, 5, 7, 11}));
  EXPECT_EQ(seen_of_twelve({.kind = kGlobal, .period = 6, .columns = 1}, 5), (Positions{0, 5, 6}));
  EXPECT_EQ(seen_of_twelve({.kind = kGlobal, .period = 6, .columns = 1}, 6).size(), 12U);
}

TEST(Visibility, TilesHoldAGlobalStreamThatSeesAllAndIsSeen) {
  ModelUse use = patterns_of({{.kind = kBlocks, .block = 10, .before = 5}, {.heads = {1}, .window = 30}});
  use.ahead = true;
  const oracle::Visibility own =
      oracle::segment_mask({.kind = VisibilityKind::kSparse, .patterns = use.patterns}, 0, 0, true);
  for (const int64_t global : {1, 3, 64, 70}) {
    use.global_tokens = global;
    const oracle::Visibility sees = oracle::with_global_stream(own, global);
    for (const int64_t tokens : {1, 10, 70}) {
      for (const int64_t memory : {0, 1, 63, 100}) {
        const int64_t rows = global + tokens;
        const auto schedule = schedule_of(use, 2, rows, memory);
        ASSERT_TRUE(schedule.has_value());
        const kernels::VisibleTiles tiles = schedule->tiles_at(schedule->words().data());
        for (int64_t head = 0; head < 2; ++head) {
          for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < memory + rows; ++j)
              ASSERT_EQ(bit_of(tiles, head, i, j) != 0, sees(head, i, j - memory))
                  << head << ' ' << i << ' ' << j << " of " << rows << " and " << memory << " and " << global;
          }
        }
      }
    }
  }
}

TEST(Visibility, HeadsThatSeeTheSameShareTheirTiles) {
  const auto schedule = [](std::vector<PatternConfig> patterns, int64_t heads) {
    return *schedule_of(patterns_of(std::move(patterns)), heads, 130, 64);
  };
  const auto entries = [](const kernels::TileSchedule& of) {
    return of.tiles_at(of.words().data()).keys_of_queries.entries.shape[0];
  };
  const PatternConfig drawn{.kind = kRandom, .block = 8, .period = 64, .count = 2, .farthest = 4};
  const auto of_heads = [](PatternConfig pattern, std::vector<int64_t> heads) {
    pattern.heads = std::move(heads);
    return pattern;
  };
  const auto two = schedule({{.heads = {0}, .window = 70}, {.kind = kDilated, .heads = {1}, .stride = 3}}, 2);
  const auto five = schedule({{.heads = {0, 1, 4}, .window = 70}, {.kind = kDilated, .heads = {2, 3}, .stride = 3}}, 5);
  EXPECT_EQ(five.groups(), 5);
  EXPECT_EQ(entries(five), entries(two));
  EXPECT_EQ(schedule({{.heads = {0, 1}, .window = 70}}, 2).groups(), 1);
  const auto first_draws = schedule({{.window = 4}, of_heads(drawn, {0})}, 3);
  EXPECT_EQ(entries(schedule({{.window = 4}, of_heads(drawn, {0})}, 6)), entries(first_draws));
  EXPECT_GT(entries(schedule({{.window = 4}, of_heads(drawn, {0, 1})}, 3)), entries(first_draws));
}

TEST(Visibility, HasNoTilesWithoutPatterns) { EXPECT_FALSE(schedule_of({.window = 3}, 3, 5, 5).has_value()); }

TEST(Visibility, CountsPairs) {
  EXPECT_EQ(visible_pairs({.mem_len = 4}, 3, 3, 4), 5 + 6 + 7);
  EXPECT_EQ(visible_pairs({.window = 6}, 3, 3, 4), 5 + 6 + 6);
  EXPECT_EQ(visible_pairs({.mem_len = 4, .ahead = true}, 3, 3, 4), 3 * 7);
  EXPECT_EQ(visible_pairs(patterns_of({{.kind = kBlocks, .block = 2, .before = 1}}), 3, 4, 4), 2 + 3 + 2 + 3);
  EXPECT_EQ(visible_pairs(patterns_of({{.heads = {0, 1}, .window = 1}, {.heads = {2}, .window = 4}}), 3, 2, 4), 4.0);
}

}  // namespace
}  // namespace segue
