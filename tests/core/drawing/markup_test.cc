// Nothing that stands in a file becomes markup.
#include "core/drawing/markup.h"

#include <gtest/gtest.h>

#include "core/drawing/page.h"
#include "core/drawing/svg.h"

namespace segue::report {
namespace {

constexpr const char* kHostile = "<script>alert('x')</script>\"><img src=x onerror=\"y\">&amp;";

TEST(MarkupTest, NamesWhatHasAMeaning) {
  EXPECT_EQ(escaped("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped("tab\tline\nü € 𝛼"), "tab\tline\nü € 𝛼");
}

TEST(MarkupTest, ReplacesWhatXmlCannotHold) {
  constexpr const char* kReplaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escaped(std::string_view("\0", 1)), kReplaced);
  EXPECT_EQ(escaped("\x1b"), kReplaced);
  EXPECT_EQ(escaped("\xff"), kReplaced);
  EXPECT_EQ(escaped("\xc3"), kReplaced);                                               // half a character
  EXPECT_EQ(escaped("\xc0\xbc"), std::string(kReplaced) + kReplaced);                  // a long way to write "<"
  EXPECT_EQ(escaped("\xed\xa0\x80"), std::string(kReplaced) + kReplaced + kReplaced);  // a surrogate
  EXPECT_EQ(escaped("\xef\xbf\xbf"), kReplaced);
}

TEST(MarkupTest, ShortensInTheMiddle) {
  EXPECT_EQ(shortened("runs", 4), "runs");
  EXPECT_EQ(shortened("a_very_long_name", 7),
            "a_v\xE2\x80\xA6"
            "ame");
  EXPECT_EQ(character_count(shortened("ääääääääää", 5)), 5);
}

TEST(MarkupTest, FitsIntoPixels) {
  EXPECT_EQ(fitted("runs", 100.0, 12.0), "runs");
  for (const std::string& text : {std::string(1000000, 'm'), std::string(50, 'i'), std::string("a_very_long_name")}) {
    const std::string short_one = fitted(text, 60.0, 12.0);
    EXPECT_LE(text_width(short_one, 12.0), 60.0);
    EXPECT_GT(text_width(short_one, 12.0), 30.0);
  }
}

TEST(MarkupTest, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("one", 100.0, 12.0), std::vector<std::string>{"one"});
  EXPECT_TRUE(wrapped("", 100.0, 12.0).empty());
  const std::string text = "xl, sinusoidal, learned, shaw, rope, alibi, t5, kerple, distance_aware, none";
  const std::vector<std::string> lines = wrapped(text, 200.0, 12.0);
  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(text_width(line, 12.0), 200.0);
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(lines.size(), 3U);
  EXPECT_LE(text_width(wrapped("a " + std::string(200, 'm'), 200.0, 12.0).back(), 12.0), 200.0);
}

TEST(MarkupTest, EveryTextOfThePageIsEscaped) {
  Page page({.kicker = kHostile, .title = kHostile, .summary = kHostile});
  page.section("one", kHostile);
  page.paragraph(kHostile);
  page.missing(kHostile, kHostile);
  Plot plot{.name = "plot", .title = kHostile, .x_label = kHostile, .y_label = kHostile};
  plot.series = {{.name = kHostile, .points = {{.x = 1.0, .y = 1.0, .title = kHostile}}}};
  plot.marks = {{1.0, kHostile}};
  plot.levels = {{1.0, kHostile}};
  const BarChart bars{
      .name = "bars", .title = kHostile, .x_label = kHostile, .groups = {{kHostile, {{kHostile, 0, 1.0}}}}};
  Plot panels = plot;
  for (int64_t i = 0; i < 9; ++i)
    panels.series.push_back({.name = kHostile, .colour = i, .points = plot.series[0].points});
  panels.reference = 0;
  page.figure({.charts = {plot, bars, panels},
               .caption = kHostile,
               .table = {.head = {kHostile}, .rows = {{kHostile, kHostile}}},
               .table_name = kHostile,
               .table_note = kHostile});
  const std::string html = page.finish();
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("onerror=\""), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
}

}  // namespace
}  // namespace segue::report
