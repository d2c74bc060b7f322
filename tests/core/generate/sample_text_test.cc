// Text as its tokens come, stop strings, and words.
#include "core/generate/sample_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/generate/surprisal.h"
#include "data_pipeline/tokenizer/byte_tokenizer.h"
#include "data_pipeline/tokenizer/word_tokenizer.h"

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

std::vector<Surprisal> surprisals_of(const std::string& text, size_t context = 0) {
  const auto tokenizer = make_byte_tokenizer();
  const std::vector<int32_t> tokens = tokenizer->encode(text, "text");
  const size_t known = std::max<size_t>(context, 1);
  const std::vector<float> losses(tokens.size() - known, static_cast<float>(std::numbers::ln2));  // a bit each
  const TextTokens read{.text = text,
                        .tokens = tokens,
                        .bytes = std::vector<int32_t>(tokens.size(), 1),
                        .begin = static_cast<int64_t>(context)};
  return surprisals(*tokenizer, read, losses);
}

TEST(Surprisals, GiveEveryWordTheWhiteSpaceBeforeItOnItsLine) {
  EXPECT_EQ(surprisal_table(surprisals_of("to be,\n  or \n")),
            "word\tbits\ttokens\tunknown\nto\t\t2\t0\nbe,\t4.0000\t4\t0\nline end\t1.0000\t1\t0\nor\t4.0000\t4\t0\n"
            "line end\t2.0000\t2\t0\n");
  EXPECT_EQ(surprisal_table(surprisals_of("a b\n\nc  ", 1)),
            "word\tbits\ttokens\tunknown\nb\t2.0000\t2\t0\nline end\t1.0000\t1\t0\nline end\t1.0000\t1\t0\n"
            "c\t1.0000\t1\t0\nwhite space\t2.0000\t2\t0\n");
}

TEST(Surprisals, KnowEndsOfLinesAndWhiteSpaceOfAllSystems) {
  EXPECT_EQ(surprisal_table(surprisals_of("a\r\nb\rc\xe3\x80\x80"
                                          "d")),
            "word\tbits\ttokens\tunknown\na\t\t1\t0\nline end\t2.0000\t2\t0\nb\t1.0000\t1\t0\nline end\t1.0000\t1\t0\n"
            "c\t1.0000\t1\t0\nd\t4.0000\t4\t0\n");
}

TEST(Surprisals, HaveTheWordsOfTheTextWhereTheVocabularyDoesNot) {
  for (const LineMarks marks : {LineMarks::kNone, LineMarks::kLine, LineMarks::kBoth}) {
    const auto tokenizer = read_word_list({.line_marks = marks}, "<eos>\n<unk>\na\nb\n", "list");
    const std::string text = "  caf\xc3\xa9 a\n\nb xx \"q\" <unk> yy\xe3\x80\x80";
    EncodedText encoded = tokenizer->encode_with_bytes(text, "text");
    const TextTokens read{.text = text, .tokens = std::move(encoded.tokens), .bytes = std::move(encoded.bytes)};
    std::vector<std::string> words;
    std::vector<int64_t> unknown;
    for (const Surprisal& row : surprisals(*tokenizer, read, std::vector<float>(read.tokens.size() - 1, 1.0F))) {
      if (row.kind == SurprisalKind::kWord) {
        words.push_back(row.word);
        unknown.push_back(row.unknown);
      }
    }
    EXPECT_EQ(words, (std::vector<std::string>{"caf\xc3\xa9", "a", "b", "xx", "\"q\"", "<unk>", "yy"}));
    EXPECT_EQ(unknown, (std::vector<int64_t>{1, 0, 0, 1, 1, 1, 1}));
  }
}

TEST(Surprisals, SayWhatIsNotScored) {
  const auto said = [](const std::string& text) { return describe_surprisals(sums_of(surprisals_of(text))); };
  EXPECT_EQ(said("word"), "1 word, not scored: nothing comes before it");
  EXPECT_EQ(said("ab cd e\n\n"),
            "3 words, 2.500 bits per word, the first not scored: nothing comes before it; 2 line ends, 1.000 bits per "
            "line end");
  EXPECT_EQ(said("\na "),
            "1 word, 1.000 bits per word; 1 line end, not scored: nothing comes before it; white space at the end, "
            "1.000 bits");
  EXPECT_FALSE(sums_of(surprisals_of("word")).any_scored());
  EXPECT_FALSE(sums_of(surprisals_of(" ")).any_scored());
}

}  // namespace
}  // namespace segue
