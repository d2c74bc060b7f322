// Shares of right answers by one thing and by two.
#include "core/report/answer_drawings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace segue::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AnswersOfExamples examples(int64_t items, int64_t tokens, int64_t answers, double accuracy, double confidence95) {
  return {.tokens = tokens,
          .traits = {{"items", items}},
          .share = {.answers = answers, .accuracy = accuracy, .confidence95 = confidence95}};
}

Answers four_runs() {
  return {.by_examples = {examples(4, 65, 100, 1.0, 0.0), examples(8, 65, 100, 0.5, 0.1),
                          examples(8, 129, 300, 0.9, 0.1), examples(16, 129, 100, 0.25, 0.2)}};
}

TEST(AnswerDrawingsTest, SharesAreJoinedByTheirAnswers) {
  const Shares shares = shares_by(four_runs(), {"items"});
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[1].x, 8.0);
  EXPECT_EQ(shares[1].share.answers, 400);
  EXPECT_DOUBLE_EQ(shares[1].share.accuracy, (100 * 0.5 + 300 * 0.9) / 400);
  EXPECT_DOUBLE_EQ(shares[1].share.confidence95.value(), std::hypot(100 * 0.1, 300 * 0.1) / 400);
  Answers answers = four_runs();
  answers.by_examples[1].share.confidence95.reset();
  EXPECT_FALSE(shares_by(answers, {"items"})[1].share.confidence95.has_value());
  EXPECT_TRUE(shares_by(answers, {"colour"}).empty());
}

TEST(AnswerDrawingsTest, ExamplesAreToldApartByWhatVaries) {
  std::vector<std::string> names;
  for (const ExampleKey& key : varying_keys(four_runs())) names.push_back(key.name());
  EXPECT_THAT(names, ElementsAre("items", "length"));
  const Answers one{.by_examples = {examples(4, 65, 100, 1.0, 0.0)}};
  EXPECT_TRUE(varying_keys(one).empty());
}

TEST(AnswerDrawingsTest, AGridHasHolesWhereNothingWasAsked) {
  const std::optional<HeatTable> grid = grid_of(four_runs(), "items");
  ASSERT_TRUE(grid.has_value());
  EXPECT_THAT(grid->columns, ElementsAre("65", "129"));
  ASSERT_EQ(grid->rows.size(), 3U);
  EXPECT_EQ(grid->rows[0].name, "4");
  EXPECT_THAT(grid->rows[0].shares, ElementsAre(1.0, std::nullopt));
  EXPECT_THAT(grid->rows[1].shares, ElementsAre(0.5, 0.9));
  const std::string html = heat_table_html(*grid);
  EXPECT_THAT(html, HasSubstr("<td class=\"q7\">90.0 %</td>"));
  EXPECT_THAT(html, HasSubstr("<td>\xE2\x80\x93</td>"));
}

// As many rows and columns as a file can list would be a page that nobody can load.
TEST(AnswerDrawingsTest, AGridThatIsTooLargeIsNone) {
  Answers answers;
  for (int64_t i = 1; i <= 1000; ++i) answers.by_examples.push_back(examples(i, i, 1, 0.5, 0.1));
  EXPECT_FALSE(grid_of(answers, "items").has_value());
}

TEST(AnswerDrawingsTest, ThePlotIsInPerCentWhateverTheBands) {
  const Plot plot = plot_of_shares("items", "items", {{"a", 0, shares_by(four_runs(), {"items"})}});
  ASSERT_EQ(plot.series.size(), 1U);
  EXPECT_EQ(plot.series[0].points[2].y, 25.0);
  EXPECT_EQ(plot.series[0].points[2].spread, 20.0);
  EXPECT_EQ(plot.y_range->high, 100.0);
}

TEST(AnswerDrawingsTest, WhereAnIntervalWouldHideAllEachSeedIsDrawn) {
  const AnswerShare wide{.answers = 100, .accuracy = 0.5, .confidence95 = 0.9};
  const AnswerShare narrow{.answers = 100, .accuracy = 0.5, .confidence95 = 0.1};
  const Plot plot = plot_of_shares("items", "items", {{"a", 0, {{1.0, wide, {0.0, 1.0}}, {2.0, narrow, {0.4, 0.6}}}}});
  const std::vector<Point>& points = plot.series[0].points;
  EXPECT_THAT(points[0].each, ElementsAre(0.0, 100.0));
  EXPECT_EQ(points[0].spread, 0.0);
  EXPECT_TRUE(points[1].each.empty());
  EXPECT_EQ(points[1].spread, 10.0);
  EXPECT_THAT(plot_of_shares("items", "items", {{"a", 0, {{1.0, wide}}}}).series[0].points[0].each, ElementsAre(50.0));
}

TEST(AnswerDrawingsTest, ThereIsAPlotForEveryKeyAndTheDistance) {
  Answers answers = four_runs();
  answers.by_distance.push_back({.from = 1, .to = 2, .share = {.answers = 100, .accuracy = 0.5}});
  const auto lines_of = [&](const SharesOf& shares_of) {
    return std::vector<AnswerLine>{{"a", 0, shares_of(answers)}};
  };
  std::vector<std::string> names;
  for (const AnswerPlot& of : answer_plots(varying_keys(answers), lines_of, 65)) {
    names.push_back(of.plot.name);
    EXPECT_EQ(of.plot.marks.size(), of.plot.name == "accuracy-by-length" ? 1U : 0U);
    EXPECT_EQ(of.key.has_value(), of.plot.name != "accuracy-by-distance");
  }
  EXPECT_THAT(names, ElementsAre("accuracy-by-trait-1", "accuracy-by-length", "accuracy-by-distance"));
}

// Of the accuracy 0.5 at 8 items and 65 tokens in place of what four_runs have there.
HeatTable grid_of_variant(const std::string& name, double accuracy) {
  Answers answers = four_runs();
  answers.by_examples[1].share.accuracy = accuracy;
  HeatTable grid = grid_of(answers, "items").value();
  grid.title = name;
  return grid;
}

TEST(AnswerDrawingsTest, GridsAreRowsOfOneTableAndWhatReadsTheSameIsOneRow) {
  const std::string html = grids_html({grid_of_variant("a", 0.5), grid_of_variant("b", 0.75),
                                       grid_of_variant("c", 0.50001), grid_of_variant("d", 1.0)});
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">8 \xC2\xB7 65</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">a, c</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">d</th>"));
  EXPECT_THAT(html, testing::Not(HasSubstr("\xE2\x80\x93")));  // no column for what nobody was asked
}

TEST(AnswerDrawingsTest, GridsOfManyCellsAreTablesEachShownOnce) {
  Answers many;
  for (int64_t items = 1; items <= 4; ++items)
    for (int64_t tokens = 1; tokens <= 4; ++tokens) many.by_examples.push_back(examples(items, tokens, 10, 0.5, 0.1));
  HeatTable grid = grid_of(many, "items").value();
  std::vector<HeatTable> grids{grid, grid, grid};
  grids[0].title = "a";
  grids[1].title = "b";
  grids[2].title = "c";
  grids[1].rows[2].shares[2] = 0.25;
  const std::string html = grids_html(grids);
  EXPECT_THAT(html, HasSubstr("<h3>a, c</h3>"));
  EXPECT_THAT(html, HasSubstr("<h3>b</h3>"));
  EXPECT_THAT(html, HasSubstr("class=\"pair\""));
}

}  // namespace
}  // namespace segue::report
