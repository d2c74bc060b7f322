// The bytes the original keeps. tests/launch/tokenizer_test.py compares them with its preparation.
#include "data_pipeline/tokenizer/symbol_tokenizer.h"

#include "tests/data_pipeline/tokenizer/testing.h"

namespace segue {
namespace {

using Tokens = std::vector<int32_t>;

TEST(SymbolTokenizerTest, OnlyLineFeedsOfEnwik8Vanish) {
  const std::string_view text("b\n\n a\r\0\xff\xff", 9);
  for (size_t piece = 1; piece < 10; ++piece) {
    const auto tokenizer = learned(make_symbol_learner(TokenizerKind::kEnwik8), text, piece);
    EXPECT_EQ(tokenizer->info().vocabulary, 6);
    EXPECT_EQ(tokenizer->info().symbols, (std::vector<int64_t>{0xff, 'b', ' ', 'a', '\r', 0}));
    EXPECT_EQ(encoded(*tokenizer, text, piece), (Tokens{1, 2, 3, 4, 5, 0, 0}));
  }
}

TEST(SymbolTokenizerTest, Text8IsStrippedAndKeepsItsSpaces) {
  const std::string_view text = "  ab  a\n b \n ";
  for (size_t piece = 1; piece < 14; ++piece) {
    const auto tokenizer = learned(make_symbol_learner(TokenizerKind::kText8), text, piece);
    EXPECT_EQ(tokenizer->info().symbols, (std::vector<int64_t>{' ', 'a', 'b'}));
    EXPECT_EQ(tokenizer->decode(encoded(*tokenizer, text, piece)), "ab  a b");
  }
}

TEST(SymbolTokenizerTest, WhatIsStoredIsReadAndOtherBytesAreRefused) {
  const auto tokenizer = learned(make_symbol_learner(TokenizerKind::kEnwik8), "abc");
  EXPECT_EQ(reloaded(*tokenizer)->info(), tokenizer->info());
  EXPECT_EQ(message_of<DataError>([&] { encoded(*tokenizer, "abd"); }),
            "text: byte 0x64 is not among the symbols of the vocabulary");
  EXPECT_EQ(message_of<DataError>([] { learned(make_symbol_learner(TokenizerKind::kText8), " \n"); }),
            "text8: the text holds no symbol");
}

}  // namespace
}  // namespace segue
