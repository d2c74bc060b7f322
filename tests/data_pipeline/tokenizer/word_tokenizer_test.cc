// Words, their order, and text cut in pieces anywhere. tests/launch/tokenizer_test.py compares them with Python's.
#include "data_pipeline/tokenizer/word_tokenizer.h"

#include <algorithm>

#include "data_pipeline/tokenizer/word_scanner.h"
#include "data_pipeline/tokenizer/word_table.h"
#include "tests/data_pipeline/tokenizer/testing.h"

namespace segue {
namespace {

using ::testing::HasSubstr;
using Tokens = std::vector<int32_t>;

// The scanner's findings: words in brackets, ends of lines as "/".
class Account : public WordScanner::Visitor {
 public:
  void word(std::string_view word, int64_t offset) override {
    text_ += fmt::format("[{}]", word);
    offsets_.push_back(offset);
  }
  void end_line(int64_t /*offset*/) override { text_ += '/'; }
  std::string text_;
  std::vector<int64_t> offsets_;
};

Account scanned(std::string_view text, size_t piece) {
  Account account;
  WordScanner scanner;
  scanner.begin_file("text", 0);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    scanner.append(text.substr(0, piece), account);
  scanner.end_file(account);
  return account;
}

TEST(WordScannerTest, LinesAndWordsHoweverTheTextIsCut) {
  const std::pair<const char*, const char*> cases[] = {
      {"a b\nc", "[a][b]/[c]/"},
      {"\n\n", "//"},
      {"a\r\nb\rc\n\rd\r\r\n", "[a]/[b]/[c]//[d]//"},
      {" a \t\v\f b ", "[a][b]/"},
      {"", ""},
      {"a\xc2\xa0z\xc2\x85y\xe2\x80\xa8x\xe3\x80\x80w\xe1\x9a\x80v\xe2\x81\x9fu", "[a][z][y][x][w][v][u]/"},
      {"\xe6\xbc\xa2 \xe3\x80\x81\xe2\x80\x8b", "[\xe6\xbc\xa2][\xe3\x80\x81\xe2\x80\x8b]/"}};
  for (const auto& [text, expected] : cases)
    for (size_t piece = 1; piece <= 9; ++piece) EXPECT_EQ(scanned(text, piece).text_, expected) << text << piece;
  EXPECT_EQ(scanned("ab  c\r\nd", 3).offsets_, (std::vector<int64_t>{0, 4, 7}));
}

TEST(WordScannerTest, WhatIsNotUtf8IsNamedWithItsPlaceHoweverTheTextIsCut) {
  const std::pair<const char*, int> cases[] = {{"a b\xff", 3},          {"\xc2", 0},
                                               {"a\n\xe2\x80 b", 2},    {"\x80", 0},
                                               {"ab\xed\xa0\x80 c", 2}, {"\xc3\xa9 \xe1\x9a", 3}};
  for (const auto& [text, offset] : cases)
    for (size_t piece = 1; piece <= 9; ++piece)
      EXPECT_THAT(message_of<DataError>([&text = text, piece] { scanned(text, piece); }),
                  HasSubstr(fmt::format("text: byte {}: expected UTF-8, found byte", offset)));
}

TEST(WordScannerTest, AWordWithoutEndIsNoText) {
  const std::string longest(WordScanner::kLongestWord, 'x');
  EXPECT_EQ(scanned(longest, 1000).offsets_.size(), 1);
  EXPECT_THAT(message_of<DataError>([&] { scanned("a " + longest + "y", 1000); }),
              HasSubstr("text: byte 2: expected words of at most 65536 bytes"));
}

TEST(WordTableTest, ManyWordsKeepTheirNumbers) {
  WordTable table;
  for (int64_t i = 0; i < 100000; ++i) ASSERT_EQ(table.add(std::to_string(i)), i);
  for (int64_t i = 0; i < 100000; ++i) {
    ASSERT_EQ(table.add(std::to_string(i)), i);
    ASSERT_EQ(table.find(std::to_string(i)), i);
    ASSERT_EQ(table.word(i), std::to_string(i));
  }
  EXPECT_EQ(table.find("x"), -1);
  EXPECT_EQ(table.size(), 100000);
}

// Same beginnings, same ends, zero bytes, and sizes around those that a slot of the table tells apart by itself.
TEST(WordTableTest, WordsThatAreNearlyTheSameAreDifferent) {
  std::vector<std::string> words{std::string("a"), std::string("a\0", 2), std::string("a\0\0", 3),
                                 std::string("\0a", 2)};
  for (const size_t size : {7, 8, 9, 15, 16, 17, 254, 255, 256, 257, 511, 512, 513}) {
    words.emplace_back(size, 'x');
    words.push_back(std::string(size - 1, 'x') + '\0');
    words.push_back(std::string(size - 1, 'x') + 'y');
    words.push_back(std::string(size / 2, 'x') + 'y' + std::string(size - size / 2 - 1, 'x'));
  }
  WordTable table;
  for (int64_t i = 0; i < std::ssize(words); ++i) ASSERT_EQ(table.add(words[static_cast<size_t>(i)]), i);
  for (int64_t i = 0; i < std::ssize(words); ++i) {
    ASSERT_EQ(table.find(words[static_cast<size_t>(i)]), i);
    ASSERT_EQ(table.word(i), words[static_cast<size_t>(i)]);
  }
}

std::unique_ptr<Tokenizer> words_of(const WordOptions& options, std::string_view text) {
  return learned(make_word_learner(options), text);
}

TEST(WordTokenizerTest, WordsStandByFallingCountThenByFirstOccurrence) {
  EXPECT_EQ(words_of({}, "c b a b c d")->file_text(), "<unk>\nc\nb\na\nd\n");
  EXPECT_EQ(words_of({.line_marks = LineMarks::kLine}, "c b a b c d")->file_text(), "<eos>\n<unk>\nc\nb\na\nd\n");
}

TEST(WordTokenizerTest, AnUnknownWordOfTheTextKeepsItsRankWhileItIsKept) {
  EXPECT_EQ(words_of({}, "a a <unk> <unk> b")->file_text(), "a\n<unk>\nb\n");
  EXPECT_EQ(words_of({.min_count = 3}, "a a a <unk> <unk> b b b")->file_text(), "<unk>\na\nb\n");
  EXPECT_EQ(words_of({.vocabulary_size = 3}, "a a a b b b <unk> <unk> c c")->file_text(), "a\nb\n<unk>\n");
  EXPECT_EQ(words_of({.vocabulary_size = 3}, "a a a b b b c c <unk>")->file_text(), "<unk>\na\nb\n");
  EXPECT_EQ(words_of({.line_marks = LineMarks::kLine}, "<eos> a a")->file_text(), "<eos>\n<unk>\na\n");
}

TEST(WordTokenizerTest, LinesAreMarkedAsAsked) {
  const std::string_view text = "a b\n\nb";
  EXPECT_EQ(encoded(*words_of({}, text), text), (Tokens{2, 1, 1}));
  EXPECT_EQ(encoded(*words_of({.line_marks = LineMarks::kLine}, text), text), (Tokens{3, 2, 0, 0, 2, 0}));
  EXPECT_EQ(encoded(*words_of({.line_marks = LineMarks::kBoth}, text), text), (Tokens{0, 3, 2, 0, 0, 0, 0, 2, 0}));
}

TEST(WordTokenizerTest, UnknownWordsAreCountedAndDecoded) {
  const auto tokenizer = words_of({.line_marks = LineMarks::kLine}, "a b\na\n");
  const std::unique_ptr<Encoder> encoder = tokenizer->make_encoder();
  feed(*encoder, "b c\n<unk> a\n");
  const Tokens tokens(encoder->tokens().begin(), encoder->tokens().end());
  EXPECT_EQ(encoder->unknown(), 2);
  EXPECT_EQ(tokenizer->decode(tokens), "b <unk>\n<unk> a\n");
  EXPECT_THAT(message_of<ContractError>([&] { static_cast<void>(tokenizer->decode(Tokens{4})); }),
              HasSubstr("token 4"));
}

TEST(WordTokenizerTest, WhatIsStoredIsReadAndDamageIsRefused) {
  const auto tokenizer = words_of({.line_marks = LineMarks::kLine}, "b a\xc3\xa9 b\n");
  EXPECT_EQ(reloaded(*tokenizer)->info(), tokenizer->info());
  EXPECT_EQ(encoded(*reloaded(*tokenizer), "a\xc3\xa9 b"), encoded(*tokenizer, "a\xc3\xa9 b"));
  std::string text = tokenizer->file_text();
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_THAT(message_of<DataError>([&] { load_tokenizer(tokenizer->info(), damaged, "stored"); }),
                HasSubstr("stored: expected checksum"));
  }
  const auto refusal = [&](const std::string& file) {
    return message_of<DataError>([&] { load_word_tokenizer(tokenizer->info(), file, "stored"); });
  };
  EXPECT_EQ(refusal("a\nb\n"), "stored: expected 4 words, found 2");
  EXPECT_EQ(refusal("a\n\nb\n"), "stored: line 2: expected a word without white space, found \"\"");
  EXPECT_EQ(refusal("a b\n"), "stored: line 1: expected a word without white space, found \"a b\"");
  EXPECT_EQ(refusal("a\nb\na\n"), "stored: line 3: expected a word of its own, found \"a\" a second time");
}

TEST(WordTokenizerTest, AListIsTakenAsItIs) {
  const WordOptions options{.line_marks = LineMarks::kBoth, .line_mark = "<S>", .unknown = "<UNK>"};
  const auto tokenizer = read_word_list(options, "<S> 7\nb\r\n a\n<UNK>", "list");
  EXPECT_EQ(tokenizer->file_text(), "<S>\nb\na\n<UNK>\n");
  EXPECT_EQ(encoded(*tokenizer, "a x"), (Tokens{0, 2, 3, 0}));
  const auto refusal = [&](const WordOptions& other, const char* list) {
    return message_of<DataError>([&] { encoded(*read_word_list(other, list, "list"), "a\nx"); });
  };
  EXPECT_EQ(refusal(options, "a\n"), "list: expected the mark of lines \"<S>\", found no such word");
  EXPECT_EQ(refusal({}, "a\n \n"), "list: line 2: expected a word, found none");
  EXPECT_EQ(refusal({}, ""), "list: expected a word on each line, found an empty file");
  EXPECT_EQ(refusal({}, "a\n"), "text: byte 2: word \"x\" is not in the vocabulary, which has no unknown word either");
}

TEST(WordTokenizerTest, TheFirstErrorOfATextIsTold) {
  const auto tokenizer = read_word_list({}, "a\n", "list");
  const auto error_of = [&](const char* text) { return message_of<DataError>([&] { encoded(*tokenizer, text); }); };
  EXPECT_THAT(error_of("a x\xff x "), HasSubstr("text: byte 3: expected UTF-8"));
  EXPECT_THAT(error_of("a x a \xff "), HasSubstr("text: byte 2: word \"x\" is not in the vocabulary"));
  EXPECT_THAT(error_of("a x \xff"), HasSubstr("text: byte 2: word \"x\" is not in the vocabulary"));
}

}  // namespace
}  // namespace segue
