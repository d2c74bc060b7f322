// No byte of a text is lost in its pieces.
#include "data_pipeline/tokenizer/sentencepiece_tokenizer.h"

#include <random>

#include "data_pipeline/tokenizer/utf8_lines.h"
#include "tests/data_pipeline/tokenizer/testing.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

// Sentences of made-up words, the more frequent the shorter.
std::string plain_text(int64_t words) {
  std::mt19937 random(1);
  std::string text;
  for (int64_t i = 0; i < words; ++i) {
    for (auto length = 1 + random() % 6; length > 0; --length) text += static_cast<char>('a' + random() % 9);
    text += random() % 8 == 0 ? '\n' : ' ';
  }
  return text;
}

// Characters of every length, among them those that SentencePiece keeps for itself, white space and control characters.
std::string strange_text(uint32_t seed, int64_t characters) {
  const std::string_view some[] = {"a",
                                   "b",
                                   " ",
                                   "  ",
                                   "\n",
                                   "\t",
                                   "\r",
                                   "\f",
                                   std::string_view("\0", 1),
                                   "\xe2\x96\x81",
                                   "\xe2\x96\x85",
                                   "\xc3\xa9",
                                   "e\xcc\x81",
                                   "\xef\xac\x81",
                                   "\xc2\xa0",
                                   "\xe3\x80\x80",
                                   "\xf0\x9f\x98\x80",
                                   "<unk>",
                                   "<0x41>",
                                   "\xe2\x81\x87",
                                   "\xef\xbf\xbd",
                                   "the"};
  std::mt19937 random(seed);
  std::string text;
  for (int64_t i = 0; i < characters; ++i) text += some[random() % std::size(some)];
  return text;
}

class SentencePieceTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Tokenizer> trained() {
    return learned(make_sentencepiece_learner(300), plain_text(3000) + strange_text(7, 200));
  }
};

TEST_F(SentencePieceTest, EveryByteComesBackHoweverTheTextIsCut) {
  const auto tokenizer = trained();
  EXPECT_EQ(tokenizer->info().vocabulary, 300);
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const std::string text = strange_text(seed, 100) + plain_text(20);
    const auto tokens = encoded(*tokenizer, text);
    ASSERT_EQ(tokenizer->decode(tokens), text) << seed;
    ASSERT_EQ(encoded(*tokenizer, text, 1 + seed), tokens) << seed;
    const std::unique_ptr<Encoder> encoder = tokenizer->make_encoder();
    feed(*encoder, text);
    ASSERT_EQ(encoder->note(), "");
    ASSERT_EQ(encoder->unknown(), 0);
  }
}

TEST_F(SentencePieceTest, LongLinesAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < 3 * Utf8Lines::kLongestLine) text += "\xe6\xbc\xa2\xf0\x9f\x98\x80y";
  const auto tokenizer = trained();
  EXPECT_EQ(tokenizer->decode(encoded(*tokenizer, text)), text);
  EXPECT_EQ(encoded(*tokenizer, text, 997), encoded(*tokenizer, text));
}

TEST_F(SentencePieceTest, TheSameTextGivesTheSameModelAndPiecesAreShorterThanBytes) {
  const auto tokenizer = trained();
  EXPECT_EQ(trained()->file_text(), tokenizer->file_text());
  const std::string text = plain_text(500);
  EXPECT_LT(encoded(*tokenizer, text).size(), 4 * text.size() / 5);
}

TEST_F(SentencePieceTest, WhatIsStoredIsReadAndDamageIsRefused) {
  const auto tokenizer = trained();
  EXPECT_EQ(reloaded(*tokenizer)->info(), tokenizer->info());
  EXPECT_EQ(encoded(*reloaded(*tokenizer), "a b\n"), encoded(*tokenizer, "a b\n"));
  const std::string model = tokenizer->file_text();
  std::mt19937 random(1);
  for (int trial = 0; trial < 100; ++trial) {
    std::string damaged = model;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    EXPECT_THAT(message_of<DataError>([&] { load_tokenizer(tokenizer->info(), damaged, "stored"); }),
                HasSubstr("stored: expected checksum"));
  }
  EXPECT_THAT(message_of<DataError>([&] { read_sentencepiece_model("no model", "stored"); }),
              HasSubstr("stored: not a SentencePiece model"));
  EXPECT_THAT(message_of<DataError>([&] { read_sentencepiece_model("", "stored"); }), HasSubstr("stored: "));
}

TEST_F(SentencePieceTest, TextThatIsNotUtf8IsNamedWithItsPlace) {
  const auto tokenizer = trained();
  const std::pair<std::string, int> cases[] = {{"ab\xff", 2},        {"\n\x80", 1},           {"\xc0\xaf", 0},
                                               {"x\xed\xa0\x80", 1}, {"\xf4\x90\x80\x80", 0}, {"\xe2\x82", 0},
                                               {"\xf5x", 0},         {"\xf0\x80\x80\x80", 0}, {"a\xe0\x9f\xbf", 1}};
  for (const auto& [text, offset] : cases) {
    const std::string expected = fmt::format("text: byte {}: expected UTF-8, found byte", offset);
    EXPECT_THAT(message_of<DataError>([&] { encoded(*tokenizer, text); }), HasSubstr(expected));
    EXPECT_THAT(message_of<DataError>([&] { learned(make_sentencepiece_learner(300), text); }), HasSubstr(expected));
  }
}

TEST_F(SentencePieceTest, TextTooSmallForTheVocabularySaysWhatFits) {
  EXPECT_THAT(message_of<DataError>([] { learned(make_sentencepiece_learner(9000), "a b\n"); }),
              HasSubstr("sentencepiece: Vocabulary size too high (9000)"));
  EXPECT_THAT(message_of<DataError>([] { learned(make_sentencepiece_learner(300), "\t\n\n"); }),
              HasSubstr("nothing to learn from"));
}

}  // namespace
}  // namespace segue
