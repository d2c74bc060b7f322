// Losses in the units in which people compare them.
//
// A model's loss is in nats per token, and a token may be a byte, a word, a piece of a word, a symbol of the original's
// preparation, or what another program made. Losses over different tokens of the same text meet in bits per byte:
//   bits per byte = sum of nats over the scored tokens / sum of the bytes of text that these very tokens stand for / ln
//   2
// (data_pipeline/tokenizer/tokenizer.h says which bytes are whose). Tokens are not as long in one part of a text as in
// another, so the mean over a whole split says nothing of a part that is scored.
//
// What a masked model loses at the tokens that it predicts says how well it fills gaps, with the rest in sight. It is
// no length of a code for the text: it has neither a perplexity nor bits per byte, and its unit is a masked token.
//
// A token that the vocabulary does not have is the unknown token, which says nothing of what stood there: where many
// are, a low loss is no good model. "unknown_tokens" and "unknown_share" are of the scored tokens, where there is an
// unknown token.
//
// The keys of JSON results and metrics: "unit" what a token is; "loss" nats per token; "bits_per_token"; "perplexity",
// per token, absent of masked models; "bits_per_byte", absent where the bytes of the text are not known, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "core/config/model_config.h"
#include "data_pipeline/dataset.h"

namespace segue {

// A mean over scored tokens, in nats.
struct MeanLoss {
  double per_token = 0.0;
  std::optional<double> per_byte = {};  // of the text of these tokens; none: not known
};
// Of `tokens` tokens, which lost `nats` in all and stand for `bytes` bytes.
MeanLoss mean_loss(double nats, int64_t tokens, std::optional<int64_t> bytes);

// Of the tokens that were scored.
struct UnknownTokens {
  int64_t count = 0;
  int64_t scored = 0;  // known and unknown
  double share() const { return static_cast<double>(count) / static_cast<double>(scored); }
};

struct LossUnits {
  std::string unit = "token";  // or "masked token"
  bool is_byte() const { return unit == "byte"; }
  bool is_masked() const { return unit.starts_with(kMasked); }
  static constexpr std::string_view kMasked = "masked ";
};
LossUnits loss_units(const Dataset& dataset, const ObjectiveConfig& objective = {});

double bits_of(double nats);
double perplexity_per_token(double nats_per_token);
std::optional<double> bits_per_byte(const MeanLoss& loss);

// "1.7700 bits/byte", "5.9000 bits/word  1.3200 bits/byte", "5.9000 bits/token" or "1.7700 bits/masked byte".
std::string describe_bits(const MeanLoss& loss, const LossUnits& units);

// "  perplexity 3.410/byte"; nothing of a masked model.
std::string describe_perplexity(double nats_per_token, const LossUnits& units);

// "  accuracy 93.2 %", of tokens of marked data; nothing where it is not known.
std::string describe_accuracy(const std::optional<double>& accuracy);

// "  unknown 3.21 %", of the scored tokens; nothing where there is no unknown token.
std::string describe_unknown(const std::optional<UnknownTokens>& unknown);
// "3.21 %"
std::string percent_of(const UnknownTokens& unknown);
// ", 3.21 % of them unknown to the vocabulary", behind how many tokens were scored; likewise.
std::string unknown_of_them(const std::optional<UnknownTokens>& unknown);

// Adds "unknown_tokens" and "unknown_share", where there is an unknown token.
void add_unknown(OrderedJson& line, const std::optional<UnknownTokens>& unknown);

// Adds the keys of losses above to a line or a result.
void add_loss(OrderedJson& line, const MeanLoss& loss, const LossUnits& units);

}  // namespace segue
