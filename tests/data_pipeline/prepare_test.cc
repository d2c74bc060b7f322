// The datasets that `prepare` makes of whole and healthy sources.
#include "data_pipeline/prepare.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/checksum.h"
#include "data_pipeline/describe_dataset.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PrepareTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::filesystem::path output_ = directory_ / "dataset";
  int made_ = 0;
};

std::string some_text(int64_t bytes) {
  std::string text;
  for (int64_t i = 0; i < bytes; ++i) text += static_cast<char>((i * 131 + i / 251) & 0xff);
  return text;
}

// No signature is whole, so that all of these are text.
TEST_F(PrepareTest, ReadsTextThatEndsWithinASignature) {
  for (const std::string_view text : {"BZh", "BZh9", "BZh91AY&S", "P*", "\x1f\x8b", "\xfd\x37zX", "(\xb5", "PK"}) {
    const std::filesystem::path output = directory_ / fmt::format("dataset-{}", ++made_);
    prepare_silently({.output = output,
                      .train = {write_text(directory_ / "text", std::string(text))},
                      .format = SourceFormat::kText});
    EXPECT_EQ(all_text(output, "train"), text);
  }
}

TEST_F(PrepareTest, EachSplitIsTheBytesOfItsFiles) {
  prepare_silently({.output = output_,
                    .train = {write_text(directory_ / "a", "first"), write_text(directory_ / "b", "second")},
                    .valid = {write_text(directory_ / "c", "third")},
                    .test = {write_text(directory_ / "d", std::string("\0\xff", 2))},
                    .format = SourceFormat::kText});
  EXPECT_EQ(all_text(output_, "train"), "firstsecond");
  EXPECT_EQ(all_text(output_, "valid"), "third");
  EXPECT_THAT(all_tokens(output_, "test"), ElementsAre(0, 255));
  EXPECT_EQ(Dataset(output_).vocabulary(), 256);
}

TEST_F(PrepareTest, TheSeparatorStandsBetweenFilesOnly) {
  const auto a = write_text(directory_ / "a", "aa");
  const auto b = write_text(directory_ / "b", "bbb");
  prepare_silently({.output = output_, .train = {a, b, a}, .valid = {b}, .separator = '\n'});
  EXPECT_EQ(all_text(output_, "train"), "aa\nbbb\naa");
  EXPECT_EQ(all_text(output_, "valid"), "bbb");
  EXPECT_EQ(Dataset(output_).manifest().separator, '\n');
}

TEST_F(PrepareTest, FractionsCutTheInputWithoutLossOrOverlap) {
  for (const int64_t bytes : {40, 41, 97, 1000, 1009}) {
    const std::string text = some_text(bytes);
    const auto half = static_cast<size_t>(bytes / 2);
    prepare_silently(
        {.output = output_,
         .input = {write_text(directory_ / "a", text.substr(0, half)), write_text(directory_ / "b", text.substr(half))},
         .fractions = {0.8, 0.1, 0.1},
         .format = SourceFormat::kText,
         .shard_tokens = 97,
         .force = true});
    const std::string train = all_text(output_, "train");
    EXPECT_EQ(train.size(), static_cast<size_t>(std::llround(0.8 * static_cast<double>(bytes))));
    EXPECT_EQ(train + all_text(output_, "valid") + all_text(output_, "test"), text) << bytes << " bytes";
  }
}

TEST_F(PrepareTest, FractionsCountSeparatorsAndMayCutAtOne) {
  const auto file = write_text(directory_ / "a", "abcd");
  prepare_silently({.output = output_, .input = {file, file}, .fractions = {0.5, 0.5}, .separator = '|'});
  EXPECT_EQ(all_text(output_, "train") + all_text(output_, "valid"), "abcd|abcd");
  EXPECT_FALSE(Dataset(output_).has_split("test"));
}

TEST_F(PrepareTest, ShardsAreBoundedAndNumbered) {
  prepare_silently({.output = output_,
                    .train = {write_text(directory_ / "a", some_text(23))},
                    .format = SourceFormat::kText,
                    .shard_tokens = 7});
  std::vector<std::string> files;
  std::vector<int64_t> tokens;
  const Dataset dataset(output_);
  for (const ShardInfo& shard : dataset.manifest().splits.at(0).shards) {
    files.push_back(shard.file);
    tokens.push_back(shard.tokens);
  }
  EXPECT_THAT(files, ElementsAre("train-00000.h5", "train-00001.h5", "train-00002.h5", "train-00003.h5"));
  EXPECT_THAT(tokens, ElementsAre(7, 7, 7, 2));
}

TEST_F(PrepareTest, ReadyMadeTokensKeepTheirValues) {
  const std::vector<uint16_t> narrow{0, 50256, 65535, 7};
  const std::vector<uint32_t> wide{1, 128255, 0x7ffffffe, 3};
  prepare_silently(
      {.output = output_, .train = {write_tokens(directory_ / "a.bin", narrow)}, .format = SourceFormat::kUInt16});
  EXPECT_THAT(all_tokens(output_, "train"), ElementsAre(0, 50256, 65535, 7));
  EXPECT_EQ(Dataset(output_).vocabulary(), 65536);
  prepare_silently({.output = output_,
                    .train = {write_tokens(directory_ / "b.bin", wide)},
                    .format = SourceFormat::kUInt32,
                    .force = true});
  EXPECT_THAT(all_tokens(output_, "train"), ElementsAre(1, 128255, 0x7ffffffe, 3));
  EXPECT_EQ(Dataset(output_).vocabulary(), 0x7fffffff);
}

TEST_F(PrepareTest, TheVocabularyIsTheOneGivenOrTheLargestTokenOfAllSplitsPlusOne) {
  const auto low = write_tokens<uint16_t>(directory_ / "low.bin", {1, 2, 3});
  const auto high = write_tokens<uint16_t>(directory_ / "high.bin", {1, 99});
  PrepareOptions options{.output = output_, .train = {low, low}, .valid = {high}, .format = SourceFormat::kUInt16};
  options.force = true;
  prepare_silently(options);
  EXPECT_EQ(Dataset(output_).vocabulary(), 100);
  options.vocabulary = 50257;
  prepare_silently(options);
  EXPECT_EQ(Dataset(output_).vocabulary(), 50257);
  options.vocabulary.reset();
  options.separator = 500;
  prepare_silently(options);
  EXPECT_EQ(Dataset(output_).vocabulary(), 501);
  EXPECT_THAT(all_tokens(output_, "train"), ElementsAre(1, 2, 3, 500, 1, 2, 3));
}

TEST_F(PrepareTest, CompressionMakesShardsSmallerAndChangesNoToken) {
  std::vector<uint16_t> tokens;
  for (int i = 0; i < 100000; ++i) tokens.push_back(static_cast<uint16_t>(i / 100));
  const auto source = write_tokens(directory_ / "a.bin", tokens);
  PrepareOptions options{.output = output_, .train = {source}, .format = SourceFormat::kUInt16};
  prepare_silently(options);
  const auto plain_size = std::filesystem::file_size(output_ / "train-00000.h5");
  options.compression = 1;
  options.force = true;
  prepare_silently(options);
  EXPECT_LT(std::filesystem::file_size(output_ / "train-00000.h5"), plain_size / 4);
  EXPECT_EQ(all_tokens(output_, "train"), std::vector<int32_t>(tokens.begin(), tokens.end()));
  Dataset(output_).verify(true);
}

TEST_F(PrepareTest, SourcesLongerThanABlockPassWhole) {
  const std::string text = some_text((int64_t{5} << 20) + 13);
  prepare_silently({.output = output_,
                    .train = {write_text(directory_ / "a", text)},
                    .format = SourceFormat::kText,
                    .shard_tokens = 1 << 20});
  EXPECT_EQ(all_text(output_, "train"), text);
  Dataset(output_).verify(true);
}

TEST_F(PrepareTest, TheManifestNamesSourcesTheirDigestsAndSplits) {
  const auto a = write_text(directory_ / "a", "0123456789");
  const auto b = write_text(directory_ / "b", "abcde");
  prepare_silently({.output = output_, .input = {a, b}, .fractions = {0.8, 0.2}, .command = "segue prepare ..."});
  const DatasetManifest manifest = Dataset(output_).manifest();
  ASSERT_EQ(manifest.sources.size(), 2);
  EXPECT_EQ(manifest.sources[0].file, a.string());
  EXPECT_EQ(manifest.sources[0].bytes, 10);
  EXPECT_EQ(manifest.sources[0].checksum, checksum_of(std::as_bytes(std::span("0123456789", 10))));
  EXPECT_THAT(manifest.sources[0].splits, ElementsAre("train"));
  EXPECT_THAT(manifest.sources[1].splits, ElementsAre("train", "valid"));
  EXPECT_EQ(manifest.splits[0].shards[0].checksum, checksum_of(std::as_bytes(std::span("0123456789ab", 12))));
  EXPECT_EQ(manifest.command, "segue prepare ...");
}

TEST_F(PrepareTest, TheSameSourcesGiveTheSameFiles) {
  const auto source = write_text(directory_ / "a", some_text(1000));
  prepare_silently({.output = output_, .train = {source}, .format = SourceFormat::kText});
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // another second of the clock
  prepare_silently({.output = directory_ / "again", .train = {source}, .format = SourceFormat::kText});
  for (const char* file : {"manifest.json", "train-00000.h5"})
    EXPECT_EQ(read_file(output_ / file), read_file(directory_ / "again" / file)) << file;
}

TEST_F(PrepareTest, TheDescriptionNamesWhatPeopleAskFor) {
  const auto source = write_text(directory_ / "book.txt", some_text(2000));
  prepare_silently({.output = output_,
                    .input = {source},
                    .format = SourceFormat::kText,
                    .shard_tokens = 1000,
                    .command = "segue prepare ..."});
  const std::string text = describe(Dataset(output_));
  EXPECT_THAT(text, HasSubstr("tokens: byte, uint8, vocabulary 256\n"));
  EXPECT_THAT(text, HasSubstr("split train: 1,800 tokens in 2 shards, "));
  EXPECT_THAT(text, HasSubstr("  train-00001.h5  800 tokens  xxh3:"));
  EXPECT_THAT(text, HasSubstr("book.txt: 2.0 KiB, xxh3:"));
  EXPECT_THAT(text, HasSubstr(", in train, valid, test\n"));
  EXPECT_THAT(text, HasSubstr("made by: segue prepare ...\n"));
}

TEST_F(PrepareTest, TheDescriptionOfWordsSaysWhatTheyCameFrom) {
  prepare_silently({.output = output_,
                    .train = {write_text(directory_ / "a", "a b b c\nd b\n")},
                    .tokenizer = {.kind = TokenizerKind::kWord, .line_marks = LineMarks::kLine, .min_count = 2}});
  const std::string text = describe(Dataset(output_));
  EXPECT_THAT(text, HasSubstr("tokens: word, uint8, vocabulary 3\nvocabulary in vocabulary.txt, xxh3:"));
  EXPECT_THAT(text, HasSubstr("lines marked: line, by token 0\nunknown: token 1, \"<unk>\"\n"));
  EXPECT_THAT(text, HasSubstr("  from 12 bytes of text, 0.6667 tokens per byte, 37.5000 % unknown (3)\n"));
  EXPECT_THAT(text, HasSubstr("  begins \"<unk>|b|b|<unk>|\\n|<unk>|b|\\n\"\n"));
}

TEST_F(PrepareTest, TheTypeOfTokensFollowsTheVocabulary) {
  for (const int64_t words : {254, 256, 65534, 65536}) {
    std::string text;
    for (int64_t word = 0; word < words; ++word) text += fmt::format("{} ", word);
    prepare_silently({.output = output_,
                      .train = {write_text(directory_ / "a", text)},
                      .tokenizer = {.kind = TokenizerKind::kWord},
                      .force = true});
    const DatasetManifest manifest = Dataset(output_).manifest();
    EXPECT_EQ(manifest.tokenizer.vocabulary, words + 1) << "the unknown word is one more";
    EXPECT_GE(largest_vocabulary(manifest.token_type), words + 1);
    EXPECT_LT(largest_vocabulary(manifest.token_type), (words + 1) * 65536);
    EXPECT_EQ(all_tokens(output_, "train").back(), words) << "the last word to come first";
  }
}

TEST_F(PrepareTest, SizesCutExactlyAndWordsAtTheNextLine) {
  const auto source = write_text(directory_ / "a", "one two\nthree\nfour five\nsix\n");
  PrepareOptions options{.output = output_, .input = {source}, .fractions = {9, 9, 10}, .force = true};
  prepare_silently(options);
  EXPECT_EQ(all_text(output_, "train"), "one two\nt");
  EXPECT_EQ(all_text(output_, "valid"), "hree\nfour");
  options.tokenizer = {.kind = TokenizerKind::kWord, .line_marks = LineMarks::kLine};
  prepare_silently(options);
  const DatasetManifest manifest = Dataset(output_).manifest();
  EXPECT_EQ(manifest.splits.at(0).bytes, 14);
  EXPECT_EQ(manifest.splits.at(1).bytes, 10);
  EXPECT_EQ(manifest.splits.at(2).bytes, 4);
  EXPECT_EQ(all_tokens(output_, "train"), (std::vector<int32_t>{2, 3, 0, 4, 0}));
  EXPECT_EQ(all_tokens(output_, "valid"), (std::vector<int32_t>{1, 1, 0}));
}

TEST_F(PrepareTest, EveryKindTakesTextWhoseSharesEndInsideOfACharacter) {
  constexpr int kLines = 50;
  const std::string line = "\xf0\x9f\x98\x80 \xe6\xbc\xa2\xc3\xa9 ab\n";
  std::string text;
  for (int i = 0; i < kLines; ++i) text += line;
  const auto source = write_text(directory_ / "a", text);
  const auto size = static_cast<double>(text.size());
  for (size_t i = 0; i < choices_of(TokenizerKind{}).size(); ++i) {
    const auto kind = static_cast<TokenizerKind>(i);
    if (kind == TokenizerKind::kReadyMade || kind == TokenizerKind::kSentencePiece ||  // needs a library
        kind == TokenizerKind::kHuggingFace || kind == TokenizerKind::kTiktoken)       // need a file
      continue;
    for (double train = size / 2; train < size / 2 + 4; ++train)
      prepare_silently({.output = output_,
                        .input = {source},
                        .fractions = {train, size - train},
                        .tokenizer = {.kind = kind},
                        .force = true});
    EXPECT_THAT(describe(Dataset(output_)), HasSubstr(fmt::format("tokens: {}, ", name_of_choice(kind))));
  }
}

// Its manifest is larger than other JSON may be.
TEST_F(PrepareTest, ManifestsOfMoreThanOtherJsonMayHaveAreOpenedAgain) {  // as of 110,000 sources with short names
  constexpr size_t kSources = 10000;
  std::filesystem::path folder = directory_ / "deep";
  while (folder.string().size() < 1700) folder /= std::string(200, 'd');
  std::filesystem::create_directories(folder);
  const auto source = write_text(folder / "text", "0123456789");
  prepare_silently({.output = output_, .train = std::vector(kSources, source)});
  EXPECT_GT(std::filesystem::file_size(output_ / "manifest.json"), size_t{16} << 20);
  EXPECT_EQ(Dataset(output_).manifest().sources.size(), kSources);
}

TEST_F(PrepareTest, ReadyMadeTokensBringMarksAndExamples) {
  const auto first = write_tokens(directory_ / "a.bin", std::vector<uint16_t>{1, 2, 3, 4});
  const auto second = write_tokens(directory_ / "b.bin", std::vector<uint16_t>{5, 6, 7, 8, 9, 10, 11, 12});
  write_text(directory_ / "a.bin.marks", std::string("\0\1\0\3", 4));
  write_text(directory_ / "b.bin.marks", std::string("\0\0\0\0\1\1\0\7", 8));
  PrepareOptions options{
      .output = directory_ / "marked", .train = {first, second}, .format = SourceFormat::kUInt16, .shard_tokens = 5};
  options.marks = true;
  options.example_tokens = 4;
  prepare_silently(options);
  const Dataset dataset(directory_ / "marked");
  TokenSource source = dataset.split("train");
  EXPECT_EQ(source.info().runs().at(0).count, 3);
  std::vector<TokenMark> marks(12);
  source.read_marks(0, marks);
  const std::vector<uint32_t> expected{0, 1, 0, 3, 0, 0, 0, 0, 1, 1, 0, 7};
  for (size_t i = 0; i < marks.size(); ++i) EXPECT_EQ(marks[i].bits, expected[i]) << i;
  EXPECT_EQ(marks[11].distance(), 1);
  EXPECT_EQ(dataset.manifest().sources.size(), 4U);
  dataset.verify(true);
}

}  // namespace
}  // namespace segue
