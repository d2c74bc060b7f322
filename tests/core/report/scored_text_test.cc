// Which losses are of the same text, and how texts are called where they are not.
#include "core/report/scored_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace segue::report {
namespace {

using testing::ElementsAre;

constexpr const char* kBooks = "tokens:xxh3:01";
constexpr const char* kWeb = "tokens:xxh3:02";

ScoredText text(const std::string& tokens, const std::string& path = "data/book", const std::string& split = "test",
                int64_t count = 1000) {
  return {.tokens = tokens, .path = path, .split = split, .count = count};
}

bool same(const ScoredText& a, const ScoredText& b) { return are_same(a, b, true); }

TEST(ScoredTextTest, TokensDecideWhereBothAreKnown) {
  EXPECT_TRUE(same(text(kBooks), text(kBooks, "elsewhere", "held-out")));
  EXPECT_FALSE(same(text(kBooks), text(kWeb)));
  EXPECT_FALSE(same(text(kBooks), text(kBooks, "data/book", "test", 100)));  // --max-tokens 100
  EXPECT_TRUE(same(text(kBooks), text(kBooks, "data/book", "test", 990)));   // other blocks
}

TEST(ScoredTextTest, OlderIdentitiesLeaveItToThePath) {
  EXPECT_TRUE(same(text("xxh3:07"), text(kBooks)));
  EXPECT_TRUE(same(text(""), text(kBooks)));
  EXPECT_FALSE(same(text("xxh3:07"), text("xxh3:08")));
  EXPECT_FALSE(same(text("xxh3:07"), text(kBooks, "data/web")));
  EXPECT_FALSE(same(text(""), text("", "data/book", "valid")));
}

TEST(ScoredTextTest, WhatARunWasTrainedOnTellsItsDataset) {
  ScoredText a = text("", "data/book", "valid", 0);
  ScoredText b = text("", "data/book", "valid", 0);
  a.trained_on = kBooks;
  b.trained_on = kWeb;
  EXPECT_FALSE(same(a, b));
  b.trained_on = kBooks;
  b.path = "/home/me/data/book";
  EXPECT_TRUE(same(a, b));
}

// Of bytes, and of words, fewer tokens.
TEST(ScoredTextTest, OneTextInOtherTokensIsTheSamePerByte) {
  ScoredText bytes = text(kBooks, "data/bytes", "test", 1000);
  ScoredText words = text(kWeb, "data/words", "test", 210);
  bytes.place = {.sources = "xxh3:0a", .begin = 9000, .bytes = 1000};
  words.place = {.sources = "xxh3:0a", .begin = 9004, .bytes = 996};
  EXPECT_TRUE(are_same(bytes, words, true));
  EXPECT_FALSE(are_same(bytes, words, false));
  words.place->begin = 8000;
  EXPECT_FALSE(are_same(bytes, words, true));
  words.place = {.sources = "xxh3:0b", .begin = 9000, .bytes = 1000};
  EXPECT_FALSE(are_same(bytes, words, true));
  words.place = bytes.place;
  words.split = "valid";
  EXPECT_FALSE(are_same(bytes, words, true));
}

TEST(ScoredTextTest, GroupsAreInTheOrderOfTheirFirstMembers) {
  const std::vector<TextGroup> groups =
      group_by_text({text(kBooks), text(kWeb, "data/web"), text(kBooks, "copy")}, true);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_THAT(groups[0].members, ElementsAre(0, 2));
  EXPECT_EQ(groups[1].name, "test of data/web");
  const std::vector<std::string> names{"a", "b", "c"};
  EXPECT_EQ(list_of(groups, [&](size_t i) { return names[i]; }), "a, c on test of data/book; b on test of data/web");
}

TEST(ScoredTextTest, FiguresOfSeveralGroupsSayWhichTheyAreOf) {
  const Figure figure{.charts = {Plot{.name = "loss", .title = "Loss"}, BarChart{.name = "bars", .title = "Bars"}},
                      .caption = "The loss."};
  const std::vector<TextGroup> groups{{.name = "test of a"}, {.name = "test of b"}};
  const Figure alone = figure_of_group(figure, {groups[0]}, 0);
  EXPECT_EQ(std::get<Plot>(alone.charts[0]).title, "Loss");
  EXPECT_EQ(alone.caption, "The loss.");
  EXPECT_EQ(std::get<Plot>(figure_of_group(figure, groups, 0).charts[0]).name, "loss");
  const Figure second = figure_of_group(figure, groups, 1);
  EXPECT_EQ(std::get<Plot>(second.charts[0]).name, "loss-2");
  EXPECT_EQ(std::get<BarChart>(second.charts[1]).title, "On test of b: Bars");
  EXPECT_EQ(second.caption, "On test of b: The loss.");
}

TEST(ScoredTextTest, TextsOfOneNameAreToldApart) {
  const auto names = [](const std::vector<ScoredText>& texts) {
    std::vector<std::string> found;
    for (const TextGroup& group : group_by_text(texts, true)) found.push_back(group.name);
    return found;
  };
  EXPECT_THAT(names({text(kBooks), text(kBooks, "data/book", "test", 100)}),
              ElementsAre("test of data/book, 1,000 tokens", "test of data/book, 100 tokens"));
  EXPECT_THAT(names({text(kBooks), text(kWeb)}), ElementsAre("test of data/book, 1,000 tokens (tokens:xxh3:01)",
                                                             "test of data/book, 1,000 tokens (tokens:xxh3:02)"));
}

}  // namespace
}  // namespace segue::report
