// A comparison's result as JSON and as tables for a terminal.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "core/compare/comparison_result.h"
#include "core/evaluation/loss_units.h"

namespace segue {

namespace {

template <typename T>
OrderedJson known(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson cost_json(const VariantCost& cost) {
  return {{"steps", cost.steps},
          {"parameters", cost.parameters},
          {"tokens", cost.tokens},
          {"flops", cost.flops},
          {"seconds", cost.seconds},
          {"training_tokens_per_second", cost.trained_per_second},
          {"evaluation_tokens_per_second", cost.evaluated_per_second},
          {"memory_bytes_per_stream", cost.memory_bytes},
          {"peak_bytes", known(cost.peak_bytes)}};
}

OrderedJson sweep_json(const std::optional<SweptRate>& rate) {
  if (!rate) return {};
  OrderedJson tried = OrderedJson::array();
  for (const SweptRate::Tried& one : rate->tried)
    tried.push_back({{"learning_rate", one.learning_rate}, {"loss", one.loss}});
  return {{"learning_rate", rate->learning_rate()},
          {"is_at_end", rate->is_at_end()},
          {"flops", rate->flops},
          {"tried", std::move(tried)}};
}

OrderedJson difference_json(const std::optional<SeedDifference>& difference) {
  if (!difference) return {};
  return {{"loss", difference->mean},
          {"confidence95", known(difference->confidence95)},
          {"error_of_text", known(difference->error_of_text)},
          {"error_of_seeds", known(difference->error_of_seeds)},
          {"p", known(difference->p)},
          {"p_of_all", known(difference->p_of_all)},
          {"is_told_apart", difference->is_told_apart()}};
}

OrderedJson loss_json(const VariantLoss& loss, const LossUnits& units) {
  OrderedJson json{{"tgt_len", loss.tgt_len}, {"mem_len", loss.mem_len}};
  add_loss(json, loss.losses.mean(), units);
  json["confidence95"] = known(loss.losses.confidence95());
  json["seeds"] = loss.of_seeds;
  json["difference"] = difference_json(loss.difference);
  return json;
}

std::string p_in_table(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string verdict_of(const SeedDifference& difference) {
  if (!difference.confidence95) return "too few tokens to tell";
  if (!difference.is_told_apart()) return "not told apart";
  return difference.mean < 0.0 ? "lower" : "higher";
}

std::string plus_minus(double value, const std::optional<double>& spread, double scale, bool is_difference) {
  std::string text = is_difference ? fmt::format("{:+.4f}", value * scale) : fmt::format("{:.4f}", value * scale);
  if (spread) text += fmt::format(" \xC2\xB1 {:.4f}", *spread * scale);
  return text;
}

// "±" is one column and two bytes.
std::string padded(const std::string& text, size_t width) {
  const auto bytes = static_cast<size_t>(std::ranges::count(text, '\xC2'));
  const size_t columns = text.size() - bytes;
  return columns < width ? text + std::string(width - columns, ' ') : text;
}

size_t name_width(const ComparisonResult& result) {
  size_t width = std::string_view("variant").size();
  for (const ComparedVariant& variant : result.variants) width = std::max(width, variant.name.size());
  return width + 2;
}

std::string describe_point(const ComparisonResult& result, size_t point) {
  const size_t name = name_width(result);
  const double scale = result.bits_per_nat();
  std::string text = fmt::format("\n{:<{}}{:>8}{:>8}  {:<18}{:<20}{:<8}\n", "variant", name, "tgt_len", "mem_len",
                                 result.bits_name(), "above " + result.variants.front().name, "p");
  for (const ComparedVariant& variant : result.variants) {
    const VariantLoss& loss = variant.losses[point];
    text += fmt::format("{:<{}}{:>8}{:>8}  {}", variant.name, name, loss.tgt_len, loss.mem_len,
                        padded(plus_minus(loss.losses.mean(), loss.losses.confidence95(), scale, false), 18));
    if (loss.difference) {
      const std::optional<double>& p = loss.difference->p_of_all;
      text += fmt::format("{}{:<8}{}",
                          padded(plus_minus(loss.difference->mean, loss.difference->confidence95, scale, true), 20),
                          p ? p_in_table(*p) : "", verdict_of(*loss.difference));
    }
    text += '\n';
  }
  return text;
}

std::string describe_costs(const ComparisonResult& result) {
  const size_t name = name_width(result);
  std::string text =
      fmt::format("\n{:<{}}{:>12}{:>9}{:>12}{:>10}{:>14}{:>14}{:>14}{:>12}\n", "variant", name, "parameters", "steps",
                  "tokens", "FLOP", "time", "train tok/s", "eval tok/s", "memory");
  for (const ComparedVariant& variant : result.variants) {
    const VariantCost& cost = variant.cost;
    text += fmt::format("{:<{}}{:>12}{:>9}{:>12}{:>10.3g}{:>14}{:>14.0f}{:>14.0f}{:>12}\n", variant.name, name,
                        human_count(cost.parameters), human_count(cost.steps),
                        human_count(static_cast<int64_t>(cost.tokens)), cost.flops, human_duration(cost.seconds),
                        cost.trained_per_second, cost.evaluated_per_second, human_bytes(cost.memory_bytes));
  }
  return text;
}

std::string describe_rates(const ComparisonResult& result) {
  if (!result.variants.front().rate) return "";
  const size_t name = name_width(result);
  std::string text = fmt::format("\n{:<{}}{:>14}  tried, by loss on validation\n", "variant", name, "learning rate");
  for (const ComparedVariant& variant : result.variants) {
    text += fmt::format("{:<{}}{:>14}  ", variant.name, name, variant.rate->learning_rate());
    for (const SweptRate::Tried& one : variant.rate->tried)
      text += fmt::format("{}: {:.4f}  ", one.learning_rate, one.loss * result.bits_per_nat());
    text += variant.rate->is_at_end() ? "the end of what was tried: a better one may lie beyond\n" : "\n";
  }
  return text;
}

constexpr const char* kMeaning =
    "\n\xC2\xB1 is half of a 95 % interval. That of a difference is of both: other text of this kind, which is paired, "
    "and other\nseeds; p is held together over all variants at the same lengths (Holm). \"memory\" is what a stream "
    "keeps from\nsegment to segment.\n";
constexpr const char* kMeaningOfOneSeed =
    "\n\xC2\xB1 is half of a 95 % interval, of the text alone: one seed says nothing of how others would differ. p is "
    "held together\nover all variants at the same lengths (Holm). \"memory\" is what a stream keeps from segment to "
    "segment.\n";

}  // namespace

OrderedJson result_json(const ComparisonResult& result) {
  const LossUnits units{.unit = result.unit, .tokens_per_byte = result.tokens_per_byte};
  OrderedJson json{
      {"format", "segue-comparison"},
      {"version", 1},
      {"split", result.split},
      {"unit", result.unit},
      {"tokens_per_byte", result.tokens_per_byte > 0.0 ? OrderedJson(result.tokens_per_byte) : OrderedJson()},
      {"tokens", result.tokens},
      {"seeds", result.seeds},
      {"budget", write_fields(result.budget)},
      {"runs", result.runs},
      {"measured_runs", result.measured_runs},
      {"variants", OrderedJson::array()}};
  for (const ComparedVariant& variant : result.variants) {
    OrderedJson losses = OrderedJson::array();
    for (const VariantLoss& loss : variant.losses) losses.push_back(loss_json(loss, units));
    json["variants"].push_back({{"name", variant.name},
                                {"set", variant.set},
                                {"cost", cost_json(variant.cost)},
                                {"sweep", sweep_json(variant.rate)},
                                {"losses", losses}});
  }
  return json;
}

std::string describe_result(const ComparisonResult& result) {
  std::string text = fmt::format("{} of {} runs are measured", result.measured_runs, result.runs);
  if (result.variants.empty()) return text + "; no seed of every variant yet\n";
  text += fmt::format("; compared: {} variants from seed{} {}, by {} tokens of split {}, the same of all\n",
                      result.variants.size(), result.seeds.size() == 1 ? "" : "s", fmt::join(result.seeds, ", "),
                      human_count(result.tokens), result.split);
  for (size_t point = 0; point < result.points(); ++point) text += describe_point(result, point);
  return text + describe_costs(result) + describe_rates(result) +
         (result.seeds.size() == 1 ? kMeaningOfOneSeed : kMeaning);
}

}  // namespace segue
