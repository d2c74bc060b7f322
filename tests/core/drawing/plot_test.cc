// Geometry of the plots: what is drawn lies within, and what cannot be drawn is not.
#include "core/drawing/plot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/drawing/bars.h"
#include "core/drawing/intervals.h"
#include "core/drawing/markup.h"
#include "core/drawing/plot_layout.h"
#include "core/drawing/visible_pairs.h"

namespace segue::report {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Plot plot_of(std::vector<Point> points, ScaleKind kind = ScaleKind::kLinear) {
  return {.name = "plot",
          .title = "a plot",
          .x_label = "x",
          .y_label = "y",
          .x_scale = kind,
          .series = {{.name = "line", .has_markers = true, .points = std::move(points)}}};
}

TEST(PlotTest, AnAxisOfItsOwnIsNoWiderThanItSays) {
  Plot plot = plot_of({{.x = 1.0, .y = 50.0, .spread = 300.0}, {.x = 2.0, .y = 60.0, .spread = 300.0}});
  plot.y_range = Range{0.0, 100.0};
  const PlotLayout layout = lay_out(plot, Width::kWide);
  EXPECT_EQ(layout.y(0.0), layout.down.high);
  EXPECT_EQ(layout.y(100.0), layout.down.low);
}

int64_t count(const std::string& text, const std::string& word) {
  int64_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

// The values of an attribute, of elements that begin with `element`.
std::vector<double> values_of(const std::string& svg, const std::string& attribute, const std::string& element = "<") {
  const std::string begin = " " + attribute + "=\"";
  std::vector<double> values;
  for (size_t at = svg.find(element); at != std::string::npos; at = svg.find(element, at + 1)) {
    const size_t value = svg.find(begin, at);
    if (value < svg.find('>', at)) values.push_back(std::stod(svg.substr(value + begin.size(), 32)));
  }
  return values;
}

void expect_numbers_within(const std::string& svg, Width width) {
  const Sizes sizes = sizes_of(width);
  for (const std::string attribute : {"x", "y", "cx", "cy", "x1", "x2", "y1", "y2"}) {
    for (const double value : values_of(svg, attribute)) {
      EXPECT_GE(value, 0.0) << attribute;
      EXPECT_LE(value, attribute.find('x') != std::string::npos ? sizes.width : sizes.height) << attribute;
    }
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(PlotTest, PointsLieWhereTheAxesSay) {
  const Plot plot = plot_of({{0.0, 1.0}, {10.0, 3.0}});
  const PlotLayout layout = lay_out(plot, Width::kWide);
  EXPECT_GT(layout.x(0.0), layout.across.low);
  EXPECT_LT(layout.x(10.0), layout.across.high);
  EXPECT_GT(layout.y(1.0), layout.y(3.0));  // pixels count downwards
  EXPECT_LT(layout.y(1.0), layout.down.high);
  EXPECT_GT(layout.y(3.0), layout.down.low);
}

TEST(PlotTest, DrawsEverythingWithin) {
  for (const Width width : {Width::kWide, Width::kNarrow}) {
    for (const ScaleKind kind : {ScaleKind::kLinear, ScaleKind::kLog, ScaleKind::kLogFromZero}) {
      expect_numbers_within(draw(plot_of({{1.0, 2.0, 0.5}, {64.0, 1.5, 0.1}, {4096.0, 1.0}}, kind), {width}), width);
      expect_numbers_within(draw(plot_of({{5.0, 5.0}}, kind), {width}), width);
      expect_numbers_within(draw(plot_of({{0.0, 0.0}, {1.0, 0.0}}, kind), {width}), width);
      expect_numbers_within(draw(plot_of({}, kind), {width}), width);
    }
  }
}

TEST(PlotTest, WhatIsNotFiniteBreaksTheLine) {
  const Plot plot =
      plot_of({{0.0, 1.0}, {1.0, 2.0}, {2.0, kNaN}, {3.0, kInfinity}, {4.0, 2.0}, {5.0, 1.0}, {kNaN, 1.0}});
  const std::string svg = draw(plot, {});
  expect_numbers_within(svg, Width::kWide);
  EXPECT_EQ(count(svg, "fill:none"), 2);
  EXPECT_EQ(count(svg, "r=\"3.6\""), 4 + 1);  // and one beside the name
  EXPECT_FALSE(has_points(plot_of({{kNaN, 1.0}, {1.0, kNaN}})));
  EXPECT_FALSE(has_points(plot_of({{0.0, 1.0}}, ScaleKind::kLog)));
}

TEST(PlotTest, BandsAreDrawnWhereThereIsASpread) {
  EXPECT_EQ(count(draw(plot_of({{0.0, 1.0, 0.1}, {1.0, 2.0, 0.1}}), {}), "Z\" style=\"fill:"), 1);
  EXPECT_EQ(count(draw(plot_of({{0.0, 1.0}, {1.0, 2.0}}), {}), "Z\" style=\"fill:"), 0);
}

// Its band is open where what it is the mean of is drawn instead.
TEST(PlotTest, RingsAreDrawnInPlaceOfASpread) {
  Plot plot = plot_of({{0.0, 1.0, 0.1}, {1.0, 2.0, 0.1}, {2.0, 1.5}, {3.0, 1.0, 0.1}, {4.0, 2.0, 0.1}});
  plot.series[0].points[2].each = {0.5, 1.5, 2.5};
  EXPECT_EQ(count(draw(plot, {}), "fill:none;stroke:var(--series-0);stroke-width:1.25"), 3);
  EXPECT_EQ(count(draw(plot, {}), "Z\" style=\"fill:"), 2);
  expect_numbers_within(draw(plot, {}), Width::kWide);
  EXPECT_LT(lay_out(plot, Width::kWide).y.domain().low, 0.5);
  EXPECT_GT(lay_out(plot, Width::kWide).y.domain().high, 2.5);
}

TEST(PlotTest, ABandFarWiderThanTheOthersSetsNoAxis) {
  const Plot even = plot_of({{0.0, 1.0, 0.1}, {1.0, 2.0, 0.1}, {2.0, 1.0, 0.1}});
  const Plot wild = plot_of({{0.0, 1.0, 0.1}, {1.0, 2.0, 50.0}, {2.0, 1.0, 0.1}});
  EXPECT_LT(lay_out(wild, Width::kWide).y.domain().size(), 2.0 * lay_out(even, Width::kWide).y.domain().size());
  expect_numbers_within(draw(wild, {}), Width::kWide);
}

TEST(PlotTest, NamesBesideLinesDoNotTouch) {
  Plot plot = plot_of({{0.0, 1.0}, {1.0, 2.0}});
  for (int64_t i = 0; i < 6; ++i) {
    plot.series.push_back(plot.series.front());
    plot.series.back().points.back().y += 1e-3 * static_cast<double>(i);
  }
  const PlotLayout layout = lay_out(plot, Width::kWide);
  ASSERT_EQ(layout.end_names.size(), 7U);
  for (size_t i = 1; i < layout.end_names.size(); ++i)
    EXPECT_GE(layout.end_names[i].y - layout.end_names[i - 1].y, layout.sizes.font);
  EXPECT_GE(layout.end_names.front().y, layout.down.low);
  EXPECT_LE(layout.end_names.back().y, layout.down.high);
}

TEST(PlotTest, WhereThereIsNoRoomBesideThemLinesAreNamedInALegend) {
  Plot plot = plot_of({{0.0, 1.0}, {1.0, 2.0}});
  plot.series.resize(12, plot.series.front());
  const PlotLayout layout = lay_out(plot, Width::kNarrow);
  EXPECT_TRUE(layout.end_names.empty());
  EXPECT_EQ(layout.legend.size(), 12U);
  for (const LegendEntry& entry : layout.legend) EXPECT_LT(entry.place.y, layout.down.low);
}

// Lines from (0, 0) and (64, 100), each of its own colour; every second one has a band.
Plot plot_of_lines(int64_t lines) {
  Plot plot = plot_of({});
  plot.series.clear();
  for (int64_t i = 0; i < lines; ++i) {
    const double spread = i % 2 == 0 ? 0.0 : 5.0;
    plot.series.push_back({.name = fmt::format("line {}!", i),
                           .colour = i,
                           .has_markers = true,
                           .points = {{0.0, 0.0, spread}, {64.0, 100.0 - static_cast<double>(i), spread}}});
  }
  plot.reference = 0;
  return plot;
}

TEST(PanelsTest, MoreLinesThanColoursHaveAPanelEach) {
  EXPECT_FALSE(is_in_panels(plot_of_lines(7)));
  EXPECT_TRUE(is_in_panels(plot_of_lines(8)));
  for (const Width width : {Width::kWide, Width::kNarrow}) {
    for (const int64_t lines : {8, 9, 13, 40}) {
      const std::string svg = draw(plot_of_lines(lines), {width});
      for (int64_t i = 1; i < lines; ++i) EXPECT_EQ(count(svg, fmt::format(">line {}!<", i)), 1);
      EXPECT_EQ(count(svg, ">line 0!<"), 2);        // and in the key
      EXPECT_EQ(count(svg, "<circle"), 2 * lines);  // its own points alone are marked
      EXPECT_EQ(count(svg, "Z\" style=\"fill:"), lines / 2);
      EXPECT_EQ(count(svg, "stroke-dasharray:4 3"), lines);  // the reference in all panels but its own, and the key
      EXPECT_EQ(svg.find("series-1"), std::string::npos);    // no line is told by its colour
    }
  }
}

TEST(PanelsTest, AllOfThemLieWithin) {
  for (const Width width : {Width::kWide, Width::kNarrow}) {
    for (const ScaleKind kind : {ScaleKind::kLinear, ScaleKind::kLogFromZero}) {
      Plot plot = plot_of_lines(13);
      plot.series[4].name = std::string(200, 'm');
      plot.x_scale = kind;
      plot.x_ticks = {0.0, 64.0};
      plot.marks = {{8.0, "a mark"}};
      const std::string svg = draw(plot, {width});
      EXPECT_EQ(count(svg, ">a mark<"), 1);
      const double across = sizes_of(width).width;
      const double down = std::stod(svg.substr(svg.find("viewBox=\"0 0 ") + std::string("viewBox=\"0 0 390 ").size()));
      for (const std::string attribute : {"x", "y", "cx", "cy", "x1", "x2", "y1", "y2"}) {
        for (const double value : values_of(svg, attribute)) {
          EXPECT_GE(value, 0.0) << attribute;
          EXPECT_LE(value, attribute.find('x') != std::string::npos ? across : down) << attribute;
        }
      }
    }
  }
}

// Ten times as many lines are not a hundred times as large.
TEST(PanelsTest, GrowsWithItsLines) {
  const auto size_of = [](int64_t lines) {
    Plot plot = plot_of_lines(lines);
    for (Series& series : plot.series) {
      series.has_markers = false;
      for (int64_t i = 0; i < 600; ++i) series.points.push_back({65.0 + static_cast<double>(i), 1.0});
    }
    return draw(plot, {}).size();
  };
  EXPECT_LT(size_of(200), 20 * size_of(20));
}

// A run's curves in training and on validation are of one colour.
TEST(PanelsTest, SeriesOfOneColourShareAPanel) {
  Plot plot = plot_of_lines(8);
  plot.series.push_back(plot.series[3]);
  plot.series.back().name.clear();
  plot.series.back().style = LineStyle::kBehind;
  plot.series.back().has_markers = false;
  const std::string before = draw(plot_of_lines(8), {});
  EXPECT_EQ(count(draw(plot, {}), "<path"), count(before, "<path") + 2);  // it and its band
}

// Names of variants may be of any length, and stand in labels.
TEST(PlotTest, WordsAreNoWiderThanTheDrawing) {
  for (const int64_t lines : {2, 9}) {
    Plot plot = plot_of_lines(lines);
    plot.x_label = plot.y_label = plot.series[0].name = std::string(300, 'n');
    const std::string svg = draw(plot, {Width::kNarrow});
    for (size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) {
      const size_t text = svg.find('>', at) + 1;
      const double font = std::stod(svg.substr(svg.find("font-size:", at) + std::string("font-size:").size()));
      EXPECT_LE(text_width(svg.substr(text, svg.find('<', text) - text), font), 390.0);
    }
  }
}

// 65,536 is as wide as it is.
TEST(PlotTest, LabelsOfTheLastTicksAreNotCutOff) {
  Plot plot = plot_of({{1.0, 1.0}, {65536.0, 2.0}}, ScaleKind::kLog);
  plot.series.front().name.clear();
  plot.x_ticks = {1.0, 65536.0};
  for (const Width width : {Width::kWide, Width::kNarrow}) {
    const PlotLayout layout = lay_out(plot, width);
    const double half = text_width(layout.x_ticks.back().label, layout.sizes.font) / 2.0;
    EXPECT_LE(layout.x(65536.0) + half, layout.sizes.width);
  }
}

TEST(PlotTest, LabelsOfTicksDoNotTouch) {
  const Scale scale(ScaleKind::kLinear, {0.0, 1000.0}, {0.0, 100.0});
  std::vector<Tick> ticks = given_ticks(scale, std::vector<double>{0.0, 10.0, 400.0, 500.0, 980.0, 1000.0});
  thin_labels(ticks, scale, 12.0, {-1000.0, 2000.0});
  double end = -100.0;
  for (const Tick& tick : ticks) {
    if (tick.label.empty()) continue;
    const double half = text_width(tick.label, 12.0) / 2.0;
    EXPECT_GT(scale(tick.value) - half, end);
    end = scale(tick.value) + half;
  }
  EXPECT_EQ(ticks.front().label, "0");
  EXPECT_EQ(ticks.back().label, "1,000");
  EXPECT_TRUE(ticks[1].label.empty());
}

TEST(PlotTest, FilesForPapersCarryTheirColours) {
  const std::string page = draw(plot_of({{0.0, 1.0}, {1.0, 2.0}}), {.ink = Ink::kPage});
  const std::string paper = draw(plot_of({{0.0, 1.0}, {1.0, 2.0}}), {.ink = Ink::kPaper});
  EXPECT_NE(page.find("var(--series-0)"), std::string::npos);
  EXPECT_EQ(paper.find("var("), std::string::npos);
  EXPECT_NE(paper.find("#0072b2"), std::string::npos);
  EXPECT_NE(paper.find("xmlns="), std::string::npos);
}

TEST(BarsTest, LengthsAreProportional) {
  const BarChart chart{
      .name = "bars", .title = "t", .x_label = "x", .groups = {{"g", {{"a", 0, 100.0}, {"b", 1, 50.0}}}}};
  const std::string svg = draw(chart, {});
  const std::vector<double> widths = values_of(svg, "width", "<rect ");
  ASSERT_EQ(widths.size(), 2U);
  EXPECT_NEAR(widths[0], 2.0 * widths[1], 0.2);  // coordinates have one decimal
}

TEST(BarsTest, AValueThatIsNotKnownHasNoBar) {
  const BarChart chart{
      .name = "bars", .title = "t", .x_label = "x", .groups = {{"g", {{"a", 0, kNaN}, {"b", 1, 0.0}}}}};
  const std::string svg = draw(chart, {});
  EXPECT_EQ(count(svg, "<rect"), 1);
  EXPECT_NE(svg.find("not known"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

// The zero line and three ends: as wide as the spreads say.
TEST(IntervalsTest, LiesWhereItsSpreadSays) {
  const IntervalChart chart{.name = "intervals",
                            .title = "t",
                            .x_label = "x",
                            .intervals = {{.name = "a", .value = -1.0, .spread = 0.5, .text = "a"},
                                          {.name = "b", .value = 1.0, .spread = 1.0, .text = "b"},
                                          {.name = "unknown", .value = kNaN, .text = "-"},
                                          {.name = "alone", .value = 0.5, .text = "c"}}};
  for (const Width width : {Width::kWide, Width::kNarrow}) {
    const std::string svg = draw(chart, {width});
    expect_numbers_within(svg, width);
    const std::vector<double> centres = values_of(svg, "cx", "<circle ");
    ASSERT_GE(centres.size(), 3U);
    EXPECT_LT(*std::ranges::min_element(centres), *std::ranges::max_element(centres));
  }
  expect_numbers_within(draw(IntervalChart{}, {}), Width::kWide);
}

// From 80 to beyond 100, compared with 99: cut off without an end.
TEST(IntervalsTest, EndsWhereValuesDo) {
  IntervalChart chart{.name = "intervals",
                      .title = "t",
                      .x_label = "x",
                      .origin = 99.0,
                      .intervals = {{.name = "a", .value = 90.0, .spread = 20.0, .each = {80.0, 100.0}, .text = "a"}}};
  const auto ends = [&] { return count(draw(chart, {}), "stroke-width:2\"/>"); };
  EXPECT_EQ(ends(), 3);
  chart.bounds = Range{0.0, 100.0};
  EXPECT_EQ(ends(), 2);
  EXPECT_EQ(count(draw(chart, {}), "fill:none"), 2);
  expect_numbers_within(draw(chart, {}), Width::kWide);
}

// A label that is wider than the space between names and texts.
TEST(IntervalsTest, LabelsAreNotCutOff) {
  const std::string name = "a_variant_with_a_name";
  const IntervalChart chart{.name = "intervals",
                            .title = "t",
                            .x_label = "difference from " + name + ", percentage points; higher is better",
                            .intervals = {{.name = name, .value = 1.0, .text = "+1.00 *"}}};
  const std::string svg = draw(chart, {Width::kNarrow});
  int64_t labels = 0;
  for (size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) {
    const size_t text = svg.find('>', at) + 1;
    const double width = text_width(svg.substr(text, svg.find('<', text) - text), 12.0);
    const std::string element = svg.substr(at, text - at);
    const double x = std::stod(element.substr(element.find("x=\"") + 3));
    const double left = element.find("middle") != std::string::npos ? x - width / 2.0 : x - width;
    if (element.find("anchor:start") == std::string::npos) {
      EXPECT_GE(left, -0.1);  // coordinates have one decimal
      ++labels;
    }
  }
  EXPECT_GE(labels, 3);
}

TEST(VisiblePairsTest, NamesAllThatSeeTheSame) {
  VisiblePairs pairs{.name = "pairs", .memory = 4, .segment = 2, .rows = {{{-4, 0}}, {{-4, 1}}}};
  for (int64_t i = 0; i < 20; ++i) pairs.title += fmt::format("{}variant_{}", i == 0 ? "" : ", ", i);
  const std::string svg = draw(pairs, {Width::kNarrow});
  for (int64_t i = 0; i < 20; ++i) EXPECT_NE(svg.find(fmt::format("variant_{}", i)), std::string::npos);
}

TEST(VisiblePairsTest, IsOneAreaWithin) {
  VisiblePairs pairs{.name = "pairs", .title = "a, b", .memory = 4, .segment = 300};
  for (int64_t token = 0; token < 300; token += 7) pairs.rows.push_back({{std::max<int64_t>(-4, token - 9), token}});
  const std::string svg = draw(pairs, {});
  expect_numbers_within(svg, Width::kWide);
  EXPECT_EQ(count(svg, "Z\" style=\"fill:"), 1);
  EXPECT_NE(svg.find("4 in memory"), std::string::npos);
  pairs = {.name = "pairs", .title = "no memory", .segment = 1, .rows = {{{0, 0}}}};
  EXPECT_EQ(draw(pairs, {}).find("in memory"), std::string::npos);
  EXPECT_EQ(count(draw(VisiblePairs{}, {}), "Z\""), 0);
}

TEST(VisiblePairsTest, DrawsRunsApartWhereTheyCanBeTold) {
  VisiblePairs pairs{.name = "pairs", .title = "strided", .segment = 16};
  for (int64_t token = 0; token < 16; ++token) {
    pairs.rows.emplace_back();
    for (int64_t key = token % 4; key <= token; key += 4) pairs.rows.back().push_back({key, key});
  }
  EXPECT_EQ(count(draw(pairs, {}), "Z"), 4 * (1 + 2 + 3 + 4));
  VisiblePairs fine{.name = "fine", .title = "every other of many", .segment = 8000};
  for (int64_t token = 0; token < 8000; token += 200) {
    fine.rows.emplace_back();
    for (int64_t key = token % 2; key <= token; key += 2) fine.rows.back().push_back({key, key});
  }
  EXPECT_EQ(count(draw(fine, {}), "Z\" style=\"fill:"), 1);
  const std::string both = draw(std::vector{pairs, fine}, {}, "both");
  expect_numbers_within(both, Width::kWide);
  EXPECT_EQ(count(both, "in the segment"), 2);
  EXPECT_EQ(count(both, "8,000 in the segment"), 1);
  fine.global_tokens = 3;
  EXPECT_EQ(count(draw(fine, {}), "3 global, 7,997 in the segment"), 1);
}

}  // namespace
}  // namespace segue::report
