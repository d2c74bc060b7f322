// Losses in nats, bits and perplexity, per token and per byte of the text of the same tokens.
#include "core/evaluation/loss_units.h"

#include <cmath>
#include <numeric>

#include "core/config/objective_kind.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

// Three bits per token, of tokens that stand for so many bytes in all.
MeanLoss three_bits(int64_t tokens, std::optional<int64_t> bytes) {
  return mean_loss(3.0 * std::log(2.0) * static_cast<double>(tokens), tokens, bytes);
}

class LossUnitsTest : public ::testing::Test {
 protected:
  // 24 bytes in 6 words and 2 marks; 22 symbols.
  LossUnits units_of(const TokenizerOptions& tokenizer, SourceFormat format = SourceFormat::kText,
                     const ObjectiveConfig& objective = {}) {
    prepare_silently({.output = directory_ / "dataset",
                      .train = {write_text(directory_ / "text", "the cat sat\nand the dog\n")},
                      .format = format,
                      .tokenizer = tokenizer,
                      .force = true});
    return loss_units(Dataset(directory_ / "dataset"), objective);
  }

  // Of all tokens; none where it is not known.
  std::optional<int64_t> bytes() const {
    TokenSource source = Dataset(directory_ / "dataset").split("train");
    if (!source.has_bytes()) return std::nullopt;
    std::vector<int32_t> bytes(static_cast<size_t>(source.tokens()));
    source.read_bytes(0, bytes);
    return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  }

  TemporaryDirectory directory_;
};

TEST_F(LossUnitsTest, BytesCountOnce) {
  const LossUnits units = units_of({});
  EXPECT_TRUE(units.is_byte());
  EXPECT_EQ(bytes(), 24);
  EXPECT_DOUBLE_EQ(*bits_per_byte(three_bits(24, bytes())), 3.0);
  EXPECT_EQ(describe_bits(three_bits(24, bytes()), units), "3.0000 bits/byte");
}

// The text is in sight of what fills its gaps: nothing of it is a code's length.
TEST_F(LossUnitsTest, MaskedModelsHaveNeitherBytesNorPerplexity) {
  const LossUnits units = units_of({}, SourceFormat::kText, {.kind = ObjectiveKind::kMasked});
  const MeanLoss loss = three_bits(24, bytes());
  EXPECT_EQ(describe_bits(loss, units), "3.0000 bits/masked byte");
  EXPECT_EQ(describe_perplexity(loss.per_token, units), "");
  OrderedJson line;
  add_loss(line, loss, units);
  EXPECT_EQ(line, (OrderedJson{{"unit", "masked byte"}, {"loss", loss.per_token}, {"bits_per_token", 3.0}}));
}

TEST_F(LossUnitsTest, WordsAreSpreadOverTheBytesOfTheText) {
  const LossUnits units = units_of({.kind = TokenizerKind::kWord, .line_marks = LineMarks::kLine});
  EXPECT_EQ(units.unit, "word");
  EXPECT_EQ(bytes(), 24);
  EXPECT_EQ(describe_bits(three_bits(8, bytes()), units), "3.0000 bits/word  1.0000 bits/byte");
}

TEST_F(LossUnitsTest, SymbolsSayBoth) {
  const LossUnits units = units_of({.kind = TokenizerKind::kEnwik8});
  EXPECT_EQ(bytes(), 24);
  EXPECT_EQ(describe_bits(three_bits(22, bytes()), units), "3.0000 bits/symbol  2.7500 bits/byte");
}

TEST_F(LossUnitsTest, ReadyMadeTokensHaveNoBytes) {
  const LossUnits units = units_of({}, SourceFormat::kUInt16);
  EXPECT_EQ(bytes(), std::nullopt);
  EXPECT_EQ(describe_bits(three_bits(12, bytes()), units), "3.0000 bits/token");
}

TEST_F(LossUnitsTest, ResultsHaveTheKeysOfTheHeader) {
  OrderedJson line;
  add_loss(line, three_bits(2, 8), {.unit = "piece"});
  EXPECT_EQ(line["unit"], "piece");
  EXPECT_DOUBLE_EQ(line["loss"].get<double>(), 3.0 * std::log(2.0));
  EXPECT_DOUBLE_EQ(line["bits_per_token"].get<double>(), 3.0);
  EXPECT_DOUBLE_EQ(line["perplexity"].get<double>(), 8.0);
  EXPECT_DOUBLE_EQ(line["bits_per_byte"].get<double>(), 0.75);
  OrderedJson unknown;
  add_loss(unknown, three_bits(2, std::nullopt), {});
  EXPECT_FALSE(unknown.contains("bits_per_byte"));
}

}  // namespace
}  // namespace segue
