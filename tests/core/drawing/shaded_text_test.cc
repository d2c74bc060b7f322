// Shades follow the numbers, and text stays text.
#include "core/drawing/shaded_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace segue::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ShadedTextTest, LossesRunFromNoneToTheDeepest) {
  const std::string html = losses_html({{"a", 0.0, ""}, {"b", 4.0, "t"}, {"c", 80.0, ""}, {"d", {}, ""}}, 8.0);
  EXPECT_THAT(
      html,
      HasSubstr("<span>a</span><span class=\"h4\" title=\"t\">b</span><span class=\"h8\">c</span><span>d</span>"));
}

TEST(ShadedTextTest, DifferencesHaveTwoDirections) {
  const std::string html = differences_html({{"a", 1.0, ""}, {"b", -0.5, ""}, {"c", 0.01, ""}}, 1.0);
  EXPECT_THAT(html, HasSubstr("<span class=\"p4\">a</span><span class=\"n2\">b</span><span>c</span>"));
}

TEST(ShadedTextTest, TokensAreTextAndEndsOfLinesAreSeen) {
  const std::string html = losses_html({{"<b>\n", std::numeric_limits<double>::quiet_NaN(), "\"<"}}, 1.0);
  EXPECT_THAT(html, HasSubstr("title=\"&quot;&lt;\">&lt;b&gt;<i>\xE2\x86\xB5</i>\n</span>"));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(ShadedTextTest, TheDeepestShadeIsForTheFew) {
  std::vector<ShadedToken> tokens(100, {"a", 2.0, ""});
  tokens.resize(103, {"b", 50.0, ""});
  EXPECT_EQ(deepest_of(tokens), 2.0);
  EXPECT_EQ(deepest_of({}), 1.0);
  EXPECT_EQ(deepest_of({{"a", 0.0, ""}}), 0.5);
}

}  // namespace
}  // namespace segue::report
