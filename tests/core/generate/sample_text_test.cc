// Text as its tokens come, stop strings, and words.
#include "core/generate/sample_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/generate/surprisal.h"
#include "data_pipeline/tokenizer/byte_tokenizer.h"

namespace segue {
namespace {

// The text shown after each byte of `added`, the rest behind the last bar.
std::string shown(const std::string& added, const std::string& stop) {
  const auto tokenizer = make_byte_tokenizer();
  SampleText text(*tokenizer, "before ab", stop);
  std::string all;
  for (const char byte : added) {
    all += std::string(text.add(byte)) + "|";
    if (text.is_stopped()) break;
  }
  EXPECT_EQ(text.is_stopped(), added.find(stop) != std::string::npos && !stop.empty());
  return all + std::string(text.rest());
}

TEST(SampleText, ShowsTokensAsTheyCome) { EXPECT_EQ(shown("xyz", ""), "x|y|z|"); }
TEST(SampleText, HoldsBackWhatMayBecomeTheStopString) {
  EXPECT_EQ(shown("xabyabab", "abc"), "x|||aby|||ab||ab");
  EXPECT_EQ(shown("xaabcy", "abc"), "x||a|||");
}
TEST(SampleText, TheTextBeforeDoesNotStop) { EXPECT_EQ(shown("cx", "abc"), "c|x|"); }
TEST(SampleText, EndsBeforeTheStopString) {
  const auto tokenizer = make_byte_tokenizer();
  SampleText text(*tokenizer, "before ", "; ");
  for (const char byte : std::string("one; two")) text.add(byte);
  EXPECT_TRUE(text.is_stopped());
  EXPECT_EQ(text.text(), "one");
}

TEST(WordSurprisals, GiveEveryWordItsTokensAndTheWhiteSpaceBeforeIt) {
  const auto tokenizer = make_byte_tokenizer();
  const std::string text = "to be,\n  or\n";
  const std::vector<int32_t> tokens = tokenizer->encode(text, "text");
  const std::vector<float> losses(tokens.size() - 1, static_cast<float>(std::numbers::ln2));  // a bit each
  const std::vector<WordSurprisal> words = word_surprisals(*tokenizer, tokens, 0, losses);
  ASSERT_EQ(words.size(), 3);
  const std::vector<std::pair<std::string, int64_t>> expected{{"to", 2}, {"be,", 4}, {"or", 5}};
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(words[i].word, expected[i].first);
    EXPECT_EQ(words[i].tokens, expected[i].second);
    ASSERT_EQ(words[i].bits.has_value(), i > 0) << "nothing foretells the first token";
    EXPECT_NEAR(words[i].bits.value_or(2.0), static_cast<double>(expected[i].second), 1e-6);
  }
}

}  // namespace
}  // namespace segue
