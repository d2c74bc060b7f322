// Sources and options that `prepare` refuses, and that a refusal leaves nothing behind.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PrepareFailureTest : public ::testing::Test {
 protected:
  // The message of a prepare that must fail, after a look that it left neither dataset nor scraps.
  template <typename Error>
  std::string refusal(const PrepareOptions& options) {
    const std::string message = message_of<Error>([&options] { prepare_silently(options); });
    EXPECT_FALSE(std::filesystem::exists(output_)) << message;
    EXPECT_FALSE(std::filesystem::exists(output_.string() + ".partial")) << message;
    return message;
  }

  TemporaryDirectory directory_;
  std::filesystem::path output_ = directory_ / "dataset";
  std::filesystem::path text_ = write_text(directory_ / "text", "some text");
};

TEST_F(PrepareFailureTest, SourcesThatAreNotThereOrNotUsable) {
  const auto name = [this](const char* file) { return (directory_ / file).string(); };
  EXPECT_EQ(refusal<DataError>({.output = output_, .train = {directory_ / "absent"}}),
            name("absent") + ": there is no such file");
  write_text(directory_ / "empty", "");
  EXPECT_EQ(refusal<DataError>({.output = output_, .train = {text_}, .valid = {directory_ / "empty"}}),
            name("empty") + ": the file is empty; name one with text in it");
  EXPECT_EQ(
      refusal<DataError>({.output = output_, .train = {directory_.path()}}),
      fmt::format(
          "{0}: expected a file, found a directory of other files, such as dataset.partial; name the files in it, as "
          "in: {0}/*",
          directory_.path().string()));
  EXPECT_EQ(
      refusal<DataError>({.output = output_, .train = {text_}, .format = SourceFormat::kUInt16}),
      text_.string() + ": expected whole tokens of 2 bytes, found 9 bytes: the file is cut off or of another type");
}

TEST_F(PrepareFailureTest, TokensOutsideTheVocabularyAreNamedWithTheirPlace) {
  std::vector<uint16_t> tokens(700000, 5);
  tokens[650001] = 10;
  const auto source = write_tokens(directory_ / "a.bin", tokens);
  EXPECT_EQ(
      refusal<DataError>({.output = output_, .train = {source}, .format = SourceFormat::kUInt16, .vocabulary = 10}),
      source.string() + ": token 650001 (byte 1300002): expected below the vocabulary size 10, found 10");
  const auto wide = write_tokens<uint32_t>(directory_ / "b.bin", {1, 0x80000000U});
  EXPECT_EQ(
      refusal<DataError>({.output = output_, .train = {wide}, .format = SourceFormat::kUInt32}),
      wide.string() +
          ": token 1 (byte 4): expected below the largest vocabulary that there can be, 2147483647, found 2147483648");
}

TEST_F(PrepareFailureTest, SplitsTooSmallToHoldATokenAndItsTarget) {
  EXPECT_EQ(refusal<DataError>({.output = output_, .input = {text_}, .fractions = {0.9, 0.1}}),
            text_.string() +
                ": split \"valid\": expected at least 2 tokens, found 1 of 9; give more text, or a larger share "
                "with --split");
}

TEST_F(PrepareFailureTest, AVocabularyOfOneTokenTeachesNothing) {
  const auto source = write_text(directory_ / "long", "some more text\nand some lines\n");
  EXPECT_EQ(
      refusal<DataError>(
          {.output = output_, .train = {source}, .tokenizer = {.kind = TokenizerKind::kWord, .min_count = 1000000}}),
      output_.string() + ": expected a vocabulary of at least 2 tokens, found 1 token; lower --min-count (1,000,000)");
  const std::vector<uint16_t> tokens(20, 0);
  EXPECT_EQ(
      refusal<DataError>(
          {.output = output_, .train = {write_tokens(directory_ / "a.bin", tokens)}, .format = SourceFormat::kUInt16}),
      output_.string() + ": expected a vocabulary of at least 2 tokens, found 1 token");
}

TEST_F(PrepareFailureTest, OptionsThatContradictEachOther) {
  EXPECT_THAT(refusal<UsageError>({.output = output_}), HasSubstr("found none"));
  EXPECT_THAT(refusal<UsageError>({.output = output_, .valid = {text_}}), HasSubstr("--train: expected files of it"));
  EXPECT_THAT(refusal<UsageError>({.output = output_, .train = {text_}, .input = {text_}}), HasSubstr("found both"));
  EXPECT_THAT(refusal<UsageError>({.train = {text_}}), HasSubstr("found an empty path"));
  for (const std::vector<double>& fractions : std::vector<std::vector<double>>{
           {}, {0.9}, {0.5, 0.6}, {1.5, -0.5}, {1.0, 0.0}, {NAN, 0.5}, {0.25, 0.25, 0.25, 0.25}})
    EXPECT_THAT(refusal<UsageError>({.output = output_, .input = {text_}, .fractions = fractions}),
                StartsWith("--split: expected 1 to 3 positive numbers with sum 1, or whole sizes, found "));
  EXPECT_EQ(refusal<DataError>({.output = output_, .input = {text_}, .fractions = {4, 4}}),
            "--split: expected shares with a sum of 1, such as 0.9,0.05,0.05, or sizes with a sum of 9, that of the "
            "input, found "
            "a sum of 8");
  EXPECT_THAT(refusal<UsageError>({.output = output_, .train = {text_}, .separator = 256}),
              HasSubstr("separator: expected a byte from 0 to 255, found 256"));
  EXPECT_THAT(refusal<UsageError>({.output = output_, .train = {text_}, .vocabulary = 100}),
              HasSubstr("--vocab-size: expected --tokenizer word or sentencepiece, found byte"));
  EXPECT_THAT(refusal<UsageError>({.output = output_, .train = {text_}, .compression = 10}), HasSubstr("found 10"));
  EXPECT_THAT(refusal<UsageError>({.output = output_, .train = {text_}, .shard_tokens = 0}), HasSubstr("found 0"));
}

TEST_F(PrepareFailureTest, MarksThatAreNotThereOrNotAsManyAsTheTokens) {
  const auto source = write_tokens(directory_ / "a.bin", std::vector<uint16_t>(12, 5));
  PrepareOptions options{.output = output_, .train = {source}, .format = SourceFormat::kUInt16};
  options.marks = true;
  EXPECT_EQ(refusal<DataError>(options), source.string() + ".marks: there is no such file");
  write_text(directory_ / "a.bin.marks", "\1\1\1");
  EXPECT_EQ(refusal<DataError>(options), source.string() +
                                             ".marks: expected a mark, one byte, for each of the 12 tokens of " +
                                             source.string() + ", found 3");
  options.marks = false;
  options.example_tokens = 5;
  EXPECT_EQ(refusal<DataError>(options),
            "split \"train\": expected a whole number of examples of 5 tokens, found 12 tokens");
  options.format = SourceFormat::kText;
  EXPECT_EQ(refusal<UsageError>(options), "--example-tokens: expected ready-made tokens, found text");
  options.format = SourceFormat::kUInt16;
  options.marks = true;
  options.separator = 1;
  EXPECT_EQ(refusal<UsageError>(options), "--marks: expected tokens as they are, found --separator");
}

TEST_F(PrepareFailureTest, MoreShardsThanAManifestHoldsAreRefusedBeforeAnyWork) {
  const auto source = write_text(directory_ / "large", std::string(2000000, 'a'));
  EXPECT_THAT(refusal<UsageError>({.output = output_, .train = {source}, .shard_tokens = 1}),
              HasSubstr("manifest.json: 1 sources and 1,048,576 shards are more than the manifest has room for"));
}

TEST_F(PrepareFailureTest, AnExistingDatasetIsReplacedOnlyWhenForcedAndOnlyByAWholeOne) {
  prepare_silently({.output = output_, .train = {text_}});
  const auto other = write_text(directory_ / "other", "other");
  EXPECT_EQ(message_of<DataError>([&] { prepare_silently({.output = output_, .train = {other}}); }),
            output_.string() + ": the dataset exists; --force replaces it");
  const std::vector<uint16_t> tokens{1, 99};
  EXPECT_THAT(message_of<DataError>([&] {
                prepare_silently({.output = output_,
                                  .train = {write_tokens(directory_ / "a.bin", tokens)},
                                  .format = SourceFormat::kUInt16,
                                  .vocabulary = 50,
                                  .force = true});
              }),
              HasSubstr("found 99"));
  EXPECT_EQ(all_text(output_, "train"), "some text");
  prepare_silently({.output = output_, .train = {other}, .force = true});
  EXPECT_EQ(all_text(output_, "train"), "other");
}

TEST_F(PrepareFailureTest, ForceNeverReplacesWhatIsNoDataset) {
  std::filesystem::create_directory(output_);
  write_text(output_ / "thesis.tex", "precious");
  EXPECT_EQ(message_of<DataError>([&] { prepare_silently({.output = output_, .train = {text_}, .force = true}); }),
            output_.string() +
                ": exists and is not a dataset alone: it holds other files, such as thesis.tex; name another --output");
  EXPECT_EQ(read_file(output_ / "thesis.tex"), "precious");
}

// Runs `work` in a child whose files may not grow beyond `bytes`: the kernel refuses writes as on a full disk.
template <typename Work>
std::string message_under_file_limit(rlim_t bytes, const std::filesystem::path& report, Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    write_text(report, message_of<FileError>(work));
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return read_file(report);
}

TEST_F(PrepareFailureTest, ADiskThatRefusesAShardLeavesNothing) {
  const auto source = write_text(directory_ / "long", std::string(200000, 'x'));
  const auto work = [&] { prepare_silently({.output = output_, .train = {source}, .shard_tokens = 50000}); };
  EXPECT_EQ(message_under_file_limit(20000, directory_ / "report", work),
            output_.string() + ".partial/train-00000.h5.partial: cannot write: File too large");
  EXPECT_FALSE(std::filesystem::exists(output_));
  EXPECT_FALSE(std::filesystem::exists(output_.string() + ".partial"));
}

TEST_F(PrepareFailureTest, ADiskThatRefusesTheManifestLeavesTheDatasetThatWasThere) {
  prepare_silently({.output = output_, .train = {text_}});
  const auto work = [&] {
    prepare_silently({.output = output_, .train = {text_}, .force = true, .command = std::string(50000, 'c')});
  };
  EXPECT_EQ(message_under_file_limit(20000, directory_ / "report", work),
            output_.string() + ".partial/manifest.json.partial: cannot write: File too large");
  EXPECT_EQ(all_text(output_, "train"), "some text");
  EXPECT_FALSE(std::filesystem::exists(output_.string() + ".partial"));
}

TEST_F(PrepareFailureTest, APrepareKilledAtAnyMomentLeavesNothingThatOpens) {
  const auto source = write_text(directory_ / "long", std::string(3000, 'x'));
  int opened = 0;
  for (int milliseconds = 0; milliseconds < 40; milliseconds += 2) {
    const pid_t child = ::fork();
    if (child == 0) {
      prepare_silently({.output = output_, .train = {source}, .shard_tokens = 100});
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(milliseconds) * 1000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!std::filesystem::exists(output_)) continue;
    EXPECT_EQ(all_text(output_, "train"), std::string(3000, 'x'));
    ++opened;
    std::filesystem::remove_all(output_);
  }
  prepare_silently({.output = output_, .train = {source}});
  EXPECT_EQ(all_text(output_, "train"), std::string(3000, 'x')) << "after " << opened << " of 20 that had finished";
  EXPECT_FALSE(std::filesystem::exists(output_.string() + ".partial"));
}

}  // namespace
}  // namespace segue
