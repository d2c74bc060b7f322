// Ready-made tokens that are given as those of another width: named, and no others.
#include "data_pipeline/token_width.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace segue {
namespace {

using testing::IsEmpty;
using testing::StartsWith;

// Tokens of text fall off with their rank: 200 of a vocabulary.
std::vector<int64_t> tokens_of(int64_t vocabulary, int64_t count = 200) {
  std::vector<int64_t> tokens;
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double share = static_cast<double>(state >> 11) / static_cast<double>(uint64_t{1} << 53);
    tokens.push_back(static_cast<int64_t>(static_cast<double>(vocabulary) * share * share));
  }
  return tokens;
}

template <typename T>
std::string bytes_as(const std::vector<int64_t>& tokens, bool swap = false) {
  std::string bytes;
  for (const int64_t token : tokens)
    for (size_t i = 0; i < sizeof(T); ++i)
      bytes += static_cast<char>(token >> (8 * (swap ? sizeof(T) - 1 - i : i)) & 0xff);
  return bytes;
}

TEST(TokenWidth, IsThatOfAnyVocabulary) {
  for (const int64_t vocabulary : {2, 7, 256, 1000, 50257, 65536})
    EXPECT_THAT(other_tokens_than(TokenType::kUInt16, bytes_as<uint16_t>(tokens_of(vocabulary))), IsEmpty())
        << vocabulary;
  for (const int64_t vocabulary : {2, 1000, 50257, 128256, 262144, 1000000})
    EXPECT_THAT(other_tokens_than(TokenType::kUInt32, bytes_as<uint32_t>(tokens_of(vocabulary))), IsEmpty())
        << vocabulary;
}

TEST(TokenWidth, NamesTheOneThatFits) {
  for (const int64_t vocabulary : {100, 50257, 128256, 262144, 1000000}) {
    const std::string wide = bytes_as<uint32_t>(tokens_of(vocabulary)),
                      widest = bytes_as<int64_t>(tokens_of(vocabulary));
    EXPECT_THAT(other_tokens_than(TokenType::kUInt16, wide), StartsWith("tokens of uint32")) << vocabulary;
    EXPECT_THAT(other_tokens_than(TokenType::kUInt16, widest), StartsWith("tokens of int64")) << vocabulary;
    EXPECT_THAT(other_tokens_than(TokenType::kUInt32, widest), StartsWith("tokens of int64")) << vocabulary;
  }
  for (const int64_t vocabulary : {1000, 50257})
    EXPECT_THAT(other_tokens_than(TokenType::kUInt32, bytes_as<uint16_t>(tokens_of(vocabulary))),
                StartsWith("tokens of uint16"))
        << vocabulary;
}

TEST(TokenWidth, NamesTextAndTheOtherByteOrder) {
  const std::string text(200, 'a');
  EXPECT_THAT(other_tokens_than(TokenType::kUInt16, text), StartsWith("text"));
  EXPECT_THAT(other_tokens_than(TokenType::kUInt32, text), StartsWith("text"));
  std::string quoted;
  while (quoted.size() < 300) quoted += "\u201cOui, \u00e0 demain\u201d\n";
  for (const TokenType type : {TokenType::kUInt16, TokenType::kUInt32})
    EXPECT_THAT(other_tokens_than(type, quoted), StartsWith("text"));
  EXPECT_THAT(other_tokens_than(TokenType::kUInt16, bytes_as<uint16_t>(tokens_of(200), true)),
              StartsWith("tokens of the other byte order"));
  EXPECT_THAT(other_tokens_than(TokenType::kUInt32, bytes_as<uint32_t>(tokens_of(50257), true)),
              StartsWith("tokens of the other byte order"));
}

// A first try has few tokens: zeros in their high parts leave no doubt.
TEST(TokenWidth, IsSeenInAFewTokens) {
  for (const int64_t count : {3, 4, 7, 15, 31}) {
    EXPECT_THAT(other_tokens_than(TokenType::kUInt16, bytes_as<uint32_t>(tokens_of(50257, count))),
                StartsWith("tokens of uint32"));
    EXPECT_THAT(other_tokens_than(TokenType::kUInt16, bytes_as<int64_t>(tokens_of(50257, count))),
                StartsWith("tokens of int64"));
    EXPECT_THAT(other_tokens_than(TokenType::kUInt32, bytes_as<int64_t>(tokens_of(50257, count))),
                StartsWith("tokens of int64"));
    EXPECT_THAT(other_tokens_than(TokenType::kUInt32, bytes_as<uint16_t>(tokens_of(50257, 2 * count))),
                StartsWith("tokens of uint16"));
    EXPECT_THAT(other_tokens_than(TokenType::kUInt16, bytes_as<uint16_t>(tokens_of(200, count), true)),
                StartsWith("tokens of the other byte order"));
    for (const int64_t vocabulary : {3, 100, 50257}) {
      EXPECT_THAT(other_tokens_than(TokenType::kUInt16, bytes_as<uint16_t>(tokens_of(vocabulary, count))), IsEmpty());
      EXPECT_THAT(other_tokens_than(TokenType::kUInt32, bytes_as<uint32_t>(tokens_of(vocabulary, count))), IsEmpty());
    }
  }
}

// What has too few tokens to tell, and what has few different ones.
TEST(TokenWidth, IsNotJudgedByLittle) {
  EXPECT_THAT(other_tokens_than(TokenType::kUInt16, bytes_as<uint32_t>(tokens_of(100, 2))), IsEmpty());
  EXPECT_THAT(other_tokens_than(TokenType::kUInt16, std::string(400, '\0')), IsEmpty());
  EXPECT_THAT(other_tokens_than(TokenType::kUInt16, {}), IsEmpty());
}

TEST(TokenWidth, OfRawTokensIsNamed) {
  for (const int64_t vocabulary : {65, 1000, 50257})
    EXPECT_THAT(raw_tokens_of(bytes_as<uint16_t>(tokens_of(vocabulary))), StartsWith("raw tokens of uint16"));
  EXPECT_THAT(raw_tokens_of(bytes_as<uint32_t>(tokens_of(128256))), StartsWith("raw tokens of uint32"));
  EXPECT_THAT(raw_tokens_of(bytes_as<int64_t>(tokens_of(128256))), StartsWith("raw tokens of int64"));
  EXPECT_THAT(raw_tokens_of(std::string(200, '\xee')), IsEmpty());
}

}  // namespace
}  // namespace segue
