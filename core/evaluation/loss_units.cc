#include "core/evaluation/loss_units.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace segue {

MeanLoss mean_loss(double nats, int64_t tokens, std::optional<int64_t> bytes) {
  MeanLoss loss{.per_token = nats / static_cast<double>(tokens)};
  if (bytes && *bytes > 0) loss.per_byte = nats / static_cast<double>(*bytes);
  return loss;
}

LossUnits loss_units(const Dataset& dataset, const ObjectiveConfig& objective) {
  const std::string_view of_text = unit_of(dataset.manifest().tokenizer.kind);
  return {.unit = fmt::format("{}{}", objective.is_masked() ? LossUnits::kMasked : "", of_text)};
}

double bits_of(double nats) { return nats / std::numbers::ln2; }

double perplexity_per_token(double nats_per_token) { return std::exp(nats_per_token); }

std::optional<double> bits_per_byte(const MeanLoss& loss) {
  return loss.per_byte ? std::optional(bits_of(*loss.per_byte)) : std::nullopt;
}

std::string describe_bits(const MeanLoss& loss, const LossUnits& units) {
  const std::string per_token = fmt::format("{:.4f} bits/{}", bits_of(loss.per_token), units.unit);
  const std::optional<double> per_byte = bits_per_byte(loss);
  return units.is_byte() || units.is_masked() || !per_byte ? per_token
                                                           : fmt::format("{}  {:.4f} bits/byte", per_token, *per_byte);
}

std::string describe_perplexity(double nats_per_token, const LossUnits& units) {
  if (units.is_masked()) return "";
  return fmt::format("  perplexity {:.3f}/{}", perplexity_per_token(nats_per_token), units.unit);
}

std::string describe_accuracy(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format("  accuracy {:.1f} %", 100.0 * *accuracy) : "";
}

std::string describe_unknown(const std::optional<UnknownTokens>& unknown) {
  return unknown ? fmt::format("  unknown {}", percent_of(*unknown)) : "";
}

std::string percent_of(const UnknownTokens& unknown) { return fmt::format("{:.3g} %", 100.0 * unknown.share()); }

std::string unknown_of_them(const std::optional<UnknownTokens>& unknown) {
  return unknown ? fmt::format(", {} of them unknown to the vocabulary", percent_of(*unknown)) : "";
}

void add_unknown(OrderedJson& line, const std::optional<UnknownTokens>& unknown) {
  if (!unknown) return;
  line["unknown_tokens"] = unknown->count;
  line["unknown_share"] = unknown->share();
}

void add_loss(OrderedJson& line, const MeanLoss& loss, const LossUnits& units) {
  line["unit"] = units.unit;
  line["loss"] = loss.per_token;
  line["bits_per_token"] = bits_of(loss.per_token);
  if (units.is_masked()) return;
  line["perplexity"] = perplexity_per_token(loss.per_token);
  if (const std::optional<double> per_byte = bits_per_byte(loss)) line["bits_per_byte"] = *per_byte;
}

}  // namespace segue
