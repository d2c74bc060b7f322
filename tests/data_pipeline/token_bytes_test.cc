// How many bytes of the text each token stands for: every byte belongs to one token, however the text comes in.
#include <algorithm>
#include <numeric>

#include "data_pipeline/tokenizer/symbol_tokenizer.h"
#include "data_pipeline/tokenizer/word_tokenizer.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

using testing::ElementsAre;

// The bytes of the tokens of texts, each a file that begins at an offset of its own, in pieces of `piece` bytes.
std::vector<uint32_t> bytes_of_tokens(const Tokenizer& tokenizer, const std::vector<std::string>& texts, size_t piece) {
  const std::unique_ptr<Encoder> encoder = tokenizer.make_encoder();
  int64_t offset = 1000;
  for (const std::string& text : texts) {
    encoder->begin_file("text", offset -= 300);
    for (size_t at = 0; at < text.size(); at += piece) encoder->append(std::string_view(text).substr(at, piece));
    encoder->end_file();
  }
  encoder->end_split();
  EXPECT_EQ(encoder->tokens().size(), encoder->token_bytes().size());
  return encoder->token_bytes();
}

std::unique_ptr<Tokenizer> words(LineMarks marks) {
  return read_word_list({.line_marks = marks}, "<eos>\n<unk>\na\nbb\n", "list");
}

TEST(TokenBytesTest, WordsHaveTheWhiteSpaceBehindThemAndMarksTheEndOfALine) {
  const std::vector<std::string> texts{"  a bb  \t a\r\n\n bb", "ccc a\n"};
  for (const size_t piece : {1, 3, 100}) {
    EXPECT_THAT(bytes_of_tokens(*words(LineMarks::kNone), texts, piece), ElementsAre(4, 6, 5, 2, 4, 2));
    // a, bb, a, mark of "\r\n", mark of "\n " since the word before it begins the next line, ...
    EXPECT_THAT(bytes_of_tokens(*words(LineMarks::kLine), texts, piece), ElementsAre(4, 6, 1, 2, 2, 2, 0, 4, 1, 1));
    EXPECT_THAT(bytes_of_tokens(*words(LineMarks::kBoth), texts, piece),
                ElementsAre(2, 2, 6, 1, 2, 0, 2, 0, 2, 0, 0, 4, 1, 1));
  }
}

TEST(TokenBytesTest, SymbolsHaveWhatIsDroppedBehindThem) {
  TokenizerInfo info{.kind = TokenizerKind::kEnwik8, .vocabulary = 2, .symbols = {'a', ' '}};
  const std::vector<std::string> texts{"\na \n\na", "\n a "};
  for (const size_t piece : {1, 100}) {
    EXPECT_THAT(bytes_of_tokens(*load_symbol_tokenizer(info), texts, piece), ElementsAre(2, 3, 2, 1, 1, 1));
    info.kind = TokenizerKind::kText8;
    EXPECT_THAT(bytes_of_tokens(*load_symbol_tokenizer(info), texts, piece), ElementsAre(2, 3, 2, 1, 2));
    info.kind = TokenizerKind::kEnwik8;
  }
}

TEST(TokenBytesTest, OfATextThatGoesOnHaveNoEndOfALine) {
  const EncodedText read = words(LineMarks::kLine)->encode_with_bytes("bb a\nbb", "text");
  EXPECT_THAT(read.tokens, ElementsAre(3, 2, 0, 3));
  EXPECT_THAT(read.bytes, ElementsAre(3, 1, 1, 2));
}

class TokenBytesOfDatasetTest : public ::testing::Test {
 protected:
  std::vector<int32_t> token_bytes(const std::filesystem::path& dataset) {
    TokenSource source = Dataset(dataset).split("train");
    std::vector<int32_t> bytes(static_cast<size_t>(source.tokens()));
    source.read_bytes(0, bytes);
    EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), int64_t{0}), source.info().bytes);
    return bytes;
  }
  std::filesystem::path prepared(const std::string& text, int64_t shard_tokens) {
    prepare_silently({.output = directory_ / "dataset",
                      .train = {write_text(directory_ / "text", text)},
                      .tokenizer = {.kind = TokenizerKind::kWord},
                      .shard_tokens = shard_tokens,
                      .force = true});
    return directory_ / "dataset";
  }
  TemporaryDirectory directory_;
};

TEST_F(TokenBytesOfDatasetTest, LieBesideTheTokensInTheSmallestType) {
  const auto dataset = prepared("one three five\n", 2);
  EXPECT_THAT(token_bytes(dataset), ElementsAre(4, 6, 5));
  const DatasetManifest manifest = Dataset(dataset).manifest();
  EXPECT_EQ(manifest.splits[0].token_bytes->type, TokenType::kUInt8);
  EXPECT_EQ(manifest.splits[0].token_bytes->shards.size(), 2U);
  Dataset(dataset).verify(true);
}

// The shards before it are written anew.
TEST_F(TokenBytesOfDatasetTest, BecomeWiderWithALongerToken) {
  std::string text = "a ";
  std::vector<int32_t> expected{2};
  for (const int32_t bytes : {3, 255, 4, 256, 5, 65535, 6, 65536, 7}) {
    text += std::string(static_cast<size_t>(std::min(bytes - 1, 60000)), 'x');
    text += std::string(static_cast<size_t>(bytes - std::min(bytes - 1, 60000)), ' ');
    expected.push_back(bytes);
    const auto dataset = prepared(text, 2);
    EXPECT_EQ(token_bytes(dataset), expected);
    const int32_t most = std::ranges::max(expected);
    EXPECT_EQ(bytes_of(Dataset(dataset).manifest().splits[0].token_bytes->type), most > 65535 ? 4 : most > 255 ? 2 : 1);
    Dataset(dataset).verify(true);
    EXPECT_EQ(all_tokens(dataset, "train").size(), expected.size());
  }
}

TEST_F(TokenBytesOfDatasetTest, AreNotKnownOfReadyMadeTokens) {
  const auto dataset = prepare_positions(directory_, 100, 50);
  TokenSource source = Dataset(dataset).split("train");
  EXPECT_FALSE(source.has_bytes());
  std::vector<int32_t> bytes(1);
  EXPECT_THROW(source.read_bytes(0, bytes), ContractError);
}

}  // namespace
}  // namespace segue
