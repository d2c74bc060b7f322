// Losses in nats, bits and perplexity, per token and per byte.
#include "core/evaluation/loss_units.h"

#include <cmath>

#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

class LossUnitsTest : public ::testing::Test {
 protected:
  // 24 bytes in 6 words and 2 marks; 22 symbols.
  LossUnits units_of(const TokenizerOptions& tokenizer, SourceFormat format = SourceFormat::kText) {
    prepare_silently({.output = directory_ / "dataset",
                      .train = {write_text(directory_ / "text", "the cat sat\nand the dog\n")},
                      .format = format,
                      .tokenizer = tokenizer,
                      .force = true});
    return loss_units(Dataset(directory_ / "dataset"), "train");
  }

  TemporaryDirectory directory_;
  const double loss_ = 3.0 * std::log(2.0);  // three bits per token
};

TEST_F(LossUnitsTest, BytesCountOnce) {
  const LossUnits units = units_of({});
  EXPECT_TRUE(units.is_byte());
  EXPECT_DOUBLE_EQ(*bits_per_byte(loss_, units), 3.0);
  EXPECT_EQ(describe_bits(loss_, units), "3.0000 bits/byte");
}

// The text is in sight of what fills its gaps: nothing of it is a code's length.
TEST_F(LossUnitsTest, MaskedModelsHaveNeitherBytesNorPerplexity) {
  units_of({});
  const LossUnits units =
      loss_units(Dataset(directory_ / "dataset"), "train", ObjectiveConfig{.kind = ObjectiveKind::kMasked});
  EXPECT_EQ(bits_per_byte(loss_, units), std::nullopt);
  EXPECT_EQ(describe_bits(loss_, units), "3.0000 bits/masked byte");
  EXPECT_EQ(describe_perplexity(loss_, units), "");
  OrderedJson line;
  add_loss(line, loss_, units);
  EXPECT_EQ(line, (OrderedJson{{"unit", "masked byte"}, {"loss", loss_}, {"bits_per_token", 3.0}}));
}

TEST_F(LossUnitsTest, WordsAreSpreadOverTheBytesOfTheText) {
  const LossUnits units = units_of({.kind = TokenizerKind::kWord, .line_marks = LineMarks::kLine});
  EXPECT_EQ(units.unit, "word");
  EXPECT_DOUBLE_EQ(*bits_per_byte(loss_, units), 3.0 * 8 / 24);
  EXPECT_EQ(describe_bits(loss_, units), "3.0000 bits/word  1.0000 bits/byte");
}

TEST_F(LossUnitsTest, SymbolsSayBoth) {
  const LossUnits units = units_of({.kind = TokenizerKind::kEnwik8});
  EXPECT_DOUBLE_EQ(*bits_per_byte(loss_, units), 3.0 * 22 / 24);
  EXPECT_EQ(describe_bits(loss_, units), "3.0000 bits/symbol  2.7500 bits/byte");
}

TEST_F(LossUnitsTest, ReadyMadeTokensHaveNoBytes) {
  const LossUnits units = units_of({}, SourceFormat::kUInt16);
  EXPECT_EQ(bits_per_byte(loss_, units), std::nullopt);
  EXPECT_EQ(describe_bits(loss_, units), "3.0000 bits/token");
}

TEST_F(LossUnitsTest, ResultsHaveTheKeysOfTheHeader) {
  OrderedJson line;
  add_loss(line, loss_, {.unit = "piece", .tokens_per_byte = 0.25});
  EXPECT_EQ(line["unit"], "piece");
  EXPECT_DOUBLE_EQ(line["loss"].get<double>(), loss_);
  EXPECT_DOUBLE_EQ(line["bits_per_token"].get<double>(), 3.0);
  EXPECT_DOUBLE_EQ(line["perplexity"].get<double>(), 8.0);
  EXPECT_DOUBLE_EQ(line["bits_per_byte"].get<double>(), 0.75);
  OrderedJson unknown;
  add_loss(unknown, loss_, {});
  EXPECT_FALSE(unknown.contains("bits_per_byte"));
}

}  // namespace
}  // namespace segue
