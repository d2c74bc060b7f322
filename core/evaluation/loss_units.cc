// The arithmetic of losses, and nothing else.
#include "core/evaluation/loss_units.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace segue {

LossUnits loss_units(const Dataset& dataset, std::string_view split, const ObjectiveConfig& objective) {
  const SplitInfo& info = dataset.split_info(split);
  const std::string_view of_text = unit_of(dataset.manifest().tokenizer.kind);
  if (objective.is_masked()) return {.unit = fmt::format("{}{}", LossUnits::kMasked, of_text)};
  LossUnits units{.unit = std::string(of_text)};
  if (info.bytes > 0) units.tokens_per_byte = static_cast<double>(info.tokens) / static_cast<double>(info.bytes);
  return units;
}

double bits_per_token(double nats_per_token) { return nats_per_token / std::numbers::ln2; }

double perplexity_per_token(double nats_per_token) { return std::exp(nats_per_token); }

std::optional<double> bits_per_byte(double nats_per_token, const LossUnits& units) {
  if (units.tokens_per_byte == 0.0) return std::nullopt;
  return bits_per_token(nats_per_token) * units.tokens_per_byte;
}

std::string describe_bits(double nats_per_token, const LossUnits& units) {
  const std::string per_token = fmt::format("{:.4f} bits/{}", bits_per_token(nats_per_token), units.unit);
  const std::optional<double> per_byte = bits_per_byte(nats_per_token, units);
  return units.is_byte() || !per_byte ? per_token : fmt::format("{}  {:.4f} bits/byte", per_token, *per_byte);
}

std::string describe_perplexity(double nats_per_token, const LossUnits& units) {
  if (units.is_masked()) return "";
  return fmt::format("  perplexity {:.3f}/{}", perplexity_per_token(nats_per_token), units.unit);
}

std::string describe_accuracy(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format("  accuracy {:.1f} %", 100.0 * *accuracy) : "";
}

void add_loss(OrderedJson& line, double nats_per_token, const LossUnits& units) {
  line["unit"] = units.unit;
  line["loss"] = nats_per_token;
  line["bits_per_token"] = bits_per_token(nats_per_token);
  if (!units.is_masked()) line["perplexity"] = perplexity_per_token(nats_per_token);
  if (const std::optional<double> per_byte = bits_per_byte(nats_per_token, units)) line["bits_per_byte"] = *per_byte;
}

}  // namespace segue
