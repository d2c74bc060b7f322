#include "core/compare/result_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json_fields.h"
#include "base/text.h"
#include "core/compare/compared_answers.h"
#include "core/compare/result_tables.h"
#include "core/evaluation/loss_units.h"

namespace segue {

namespace {

template <typename T>
OrderedJson known(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

OrderedJson cost_json(const ComparedVariant& variant) {
  const VariantCost& cost = variant.cost;
  const auto measured = [&](double value) { return variant.runs.empty() ? OrderedJson() : OrderedJson(value); };
  return {{"steps", cost.steps},
          {"parameters", cost.parameters},
          {"tokens", measured(cost.tokens)},
          {"flops", cost.flops},
          {"seconds", measured(cost.seconds)},
          {"training_tokens_per_second", measured(cost.trained_per_second)},
          {"evaluation_tokens_per_second", measured(cost.evaluated_per_second)},
          {"memory_bytes_per_stream", cost.memory_bytes},
          {"peak_bytes", known(cost.peak_bytes)}};
}

OrderedJson sweep_json(const std::optional<SweptRate>& rate) {
  if (!rate) return {};
  OrderedJson tried = OrderedJson::array();
  for (const SweptRate::Tried& one : rate->tried) {
    tried.push_back({{"learning_rate", one.learning_rate}, {"loss", known(one.loss)}});
    if (rate->chosen_by == MeasureKind::kAccuracy) tried.back()["accuracy"] = known(one.accuracy);
  }
  return {{"learning_rate", rate->learning_rate()},
          {"chosen_by", rate->chosen_by == MeasureKind::kAccuracy ? "accuracy" : "loss"},
          {"is_at_end", rate->is_at_end()},
          {"flops", rate->flops},
          {"tried", std::move(tried)}};
}

OrderedJson scaled(const std::optional<double>& value, double scale) {
  return value ? OrderedJson(*value * scale) : OrderedJson();
}

// `scale`: of a nat, in what is written.
OrderedJson difference_json(const std::optional<SeedDifference>& difference, const char* name, double scale) {
  if (!difference) return {};
  return {{name, difference->mean * scale},
          {"seeds", difference->seeds},
          {"confidence95", scaled(difference->confidence95, scale)},
          {"error_of_text", scaled(difference->error_of_text, scale)},
          {"error_of_seeds", scaled(difference->error_of_seeds, scale)},
          {"p", known(difference->p)},
          {"p_adjusted", known(difference->p_adjusted)},
          {"is_significant", difference->is_significant()}};
}

// All but the mean itself.
void add_measure(OrderedJson& json, const VariantMeasure& measure, const char* name, double scale = 1.0) {
  json["confidence95"] = scaled(measure.confidence95(), scale);
  json["seeds"] = OrderedJson::array();
  for (const std::optional<double>& of_seed : measure.of_seeds) json["seeds"].push_back(scaled(of_seed, scale));
  json["difference"] = difference_json(measure.difference, name, scale);
}

OrderedJson per_byte_json(const std::optional<VariantMeasure>& loss) {
  if (!loss) return {};
  OrderedJson json{{"bits", bits_of(loss->mean())}};
  add_measure(json, *loss, "bits", bits_of(1.0));
  return json;
}

OrderedJson point_json(const ComparisonResult& result, const ComparedVariant& variant, const VariantPoint& point,
                       const LossUnits& units) {
  OrderedJson json{
      {"tgt_len", point.tgt_len}, {"mem_len", point.mem_len}, {"memory_bytes_per_stream", point.memory_bytes}};
  add_loss(json, point.loss.values.loss(), units);
  json["per_byte"] = per_byte_json(point.loss_per_byte);
  add_measure(json, point.loss, "loss");
  if (!point.accuracy) return json;
  OrderedJson& accuracy = json["accuracy"];
  accuracy["answers"] = point.accuracy->values.tokens();
  accuracy["accuracy"] = point.accuracy->values.mean();
  add_measure(accuracy, *point.accuracy, "accuracy");
  add_answers(accuracy, answers_of_seeds(result, variant, point.number));
  return json;
}

std::string p_in_table(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string plus_minus(double value, const std::optional<double>& spread, const MeasureUnits& units,
                       bool is_difference) {
  std::string text = is_difference ? fmt::format("{:+.{}f}", value * units.scale, units.decimals)
                                   : fmt::format("{:.{}f}", value * units.scale, units.decimals);
  if (spread) text += fmt::format(" \xC2\xB1 {:.{}f}", *spread * units.scale, units.decimals);
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

std::string describe_set(const ComparisonResult& result, const PointSet& set, MeasureKind kind) {
  const size_t name = name_width(result);
  const MeasureUnits units = units_of(result, kind);
  std::string text = "\n" + title_of(result, set, kind);
  text += fmt::format("\n{:<{}}{:>8}{:>8}  {:<18}{:<20}{:<8}\n", "variant", name, "tgt_len", "mem_len", units.name,
                      "above " + result.variants.front().name, "p");
  for (size_t v = 0; v < result.variants.size(); ++v) {
    const ComparedVariant& variant = result.variants[v];
    const std::string diverged = divergence_of(result, variant);
    const VariantMeasure* measure = set.find(v, kind);
    if (measure == nullptr) {
      text += fmt::format("{:<{}}{:>8}{:>8}  {}\n", variant.name, name, "", "", diverged);
      continue;
    }
    text += fmt::format("{:<{}}{:>8}{:>8}  {}", variant.name, name, set.points[v]->tgt_len, set.points[v]->mem_len,
                        padded(plus_minus(measure->mean(), measure->confidence95(), units, false), 18));
    const std::optional<SeedDifference>& difference = measure->difference;
    if (difference) {
      const std::optional<double>& p = difference->p_adjusted;
      text += fmt::format("{}{:<8}{}", padded(plus_minus(difference->mean, difference->confidence95, units, true), 20),
                          p ? p_in_table(*p) : "", verdict_of(*difference, units));
    }
    if (!diverged.empty()) text += (difference ? "; " : "") + diverged;
    if (result.seeds.size() > 1) text += fmt::format("  ({})", text_of_seeds(*measure, units));
    text += '\n';
  }
  return text;
}

std::string describe_costs(const ComparisonResult& result) {
  const size_t name = name_width(result);
  std::string text =
      fmt::format("\n{}\n{:<{}}{:>12}{:>9}{:>12}{:>10}{:>14}{:>14}{:>14}{:>12}{:>12}\n", kCostsTitle, "variant", name,
                  "parameters", "steps", "tokens", "FLOP", "time", "train tok/s", "eval tok/s", "stream", "process");
  for (const ComparedVariant& variant : result.variants) {
    const VariantCost& cost = variant.cost;
    const auto measured = [&](const std::string& value) { return variant.runs.empty() ? "" : value; };
    text += fmt::format(
        "{:<{}}{:>12}{:>9}{:>12}{:>10.3g}{:>14}{:>14}{:>14}{:>12}{:>12}\n", variant.name, name,
        human_count(cost.parameters), human_count(cost.steps), measured(human_count(static_cast<int64_t>(cost.tokens))),
        cost.flops, measured(human_duration(cost.seconds)), measured(fmt::format("{:.0f}", cost.trained_per_second)),
        measured(fmt::format("{:.0f}", cost.evaluated_per_second)), human_bytes(cost.memory_bytes),
        cost.peak_bytes ? human_bytes(*cost.peak_bytes) : "");
  }
  return text;
}

std::string describe_rates(const ComparisonResult& result) {
  if (!result.variants.front().rate) return "";
  const size_t name = name_width(result);
  std::string text =
      fmt::format("\n{}\n{:<{}}{:>14}{:>10}  tried\n", rates_title(result), "variant", name, "learning rate", "FLOP");
  for (const ComparedVariant& variant : result.variants) {
    text +=
        fmt::format("{:<{}}{:>14}{:>10.3g}  ", variant.name, name, variant.rate->learning_rate(), variant.rate->flops);
    for (const SweptRate::Tried& one : variant.rate->tried) {
      const std::optional<double> found = found_at(result, one, chosen_by(result));
      const int decimals = units_of(result, chosen_by(result)).decimals;
      text += found ? fmt::format("{}: {:.{}f}  ", one.learning_rate, *found, decimals)
                    : fmt::format("{}: diverged  ", one.learning_rate);
    }
    const bool tells_end = variant.rate->tells_ends() && variant.rate->is_at_end();
    text += tells_end ? "the end of what was tried: a better one may lie beyond\n" : "\n";
  }
  return result.variants.front().rate->tells_ends()
             ? text
             : text + "Of two rates each is an end: better ones may lie beyond.\n";
}

constexpr const char* kMeaning =
    "\xC2\xB1 is half of a 95 % interval: that of a mean is of the text, that of a difference of other text of this "
    "kind, which is paired, and of other seeds. p is adjusted for the number of variants in a table (Holm). In "
    "brackets: each seed.";
constexpr const char* kMeaningOfOneSeed =
    "\xC2\xB1 is half of a 95 % interval, of the text alone: one seed says nothing of how others would differ. p is "
    "adjusted for the number of variants in a table (Holm).";
constexpr const char* kMeaningOfCosts =
    R"("stream" is what a stream keeps from segment to segment, "process" the most memory of a program that trained.)";
constexpr const char* kMeaningOfDiverged =
    "Means leave out the seeds that diverged, and a difference is of the seeds that both have: of trainings that end.";

// What the tables mean, a paragraph each.
std::string footnotes(const ComparisonResult& result) {
  constexpr int64_t kColumns = 80;
  const auto has_diverged = [](const ComparedVariant& variant) { return !variant.diverged.empty(); };
  std::string text = "\n" + wrapped(result.seeds.size() == 1 ? kMeaningOfOneSeed : kMeaning, kColumns);
  text += wrapped(kMeaningOfCosts, kColumns);
  if (std::ranges::any_of(result.variants, has_diverged)) text += wrapped(kMeaningOfDiverged, kColumns);
  return text;
}

}  // namespace

OrderedJson result_json(const ComparisonResult& result) {
  const LossUnits units{.unit = result.unit};
  OrderedJson json{
      {"format", "segue-comparison"},
      {"version", 1},
      {"split", result.split},
      {"set", result.set},
      {"unit", result.unit},
      {"tokens_per_byte", result.tokens_per_byte > 0.0 ? OrderedJson(result.tokens_per_byte) : OrderedJson()},
      {"tokens", result.tokens}};
  add_unknown(json, result.unknown);
  json.update({{"answers", result.answers > 0 ? OrderedJson(result.answers) : OrderedJson()},
               {"seeds", result.seeds},
               {"budget", write_fields(result.budget)},
               {"runs", result.runs},
               {"measured_runs", result.measured_runs},
               {"diverged_runs", result.diverged_runs},
               {"variants", OrderedJson::array()}});
  for (const ComparedVariant& variant : result.variants) {
    OrderedJson losses = OrderedJson::array();
    for (const VariantPoint& point : variant.points) losses.push_back(point_json(result, variant, point, units));
    json["variants"].push_back(
        {{"name", variant.name},
         {"set", variant.set},
         {"diverged", variant.diverged},
         {"cost", cost_json(variant)},
         {"sweep", sweep_json(variant.rate)},
         {"losses", losses},
         {"as_trained", variant.as_trained ? point_json(result, variant, *variant.as_trained, units) : OrderedJson()}});
  }
  return json;
}

std::string describe_result(const ComparisonResult& result) {
  std::string text = fmt::format("{} of {} runs are measured", result.measured_runs, result.runs);
  if (result.diverged_runs > 0) text += fmt::format(", {} diverged", result.diverged_runs);
  if (!result.set.empty()) text += fmt::format("; with {}", fmt::join(result.set, ", "));
  if (result.variants.empty()) return text + "; no seed of every variant yet\n";
  text += fmt::format("; compared: {} variants from seed{} {}", result.variants.size(),
                      result.seeds.size() == 1 ? "" : "s", fmt::join(result.seeds, ", "));
  if (result.points() == 0) return text + ", all of which diverged\n" + describe_rates(result);
  text += fmt::format(", by {} tokens of split {}, the same of all{}\n", human_count(result.tokens), result.split,
                      unknown_of_them(result.unknown));
  for (const MeasureKind kind : result.measures())
    for (const PointSet& set : point_sets(result)) text += describe_set(result, set, kind);
  return text + describe_costs(result) + describe_rates(result) + footnotes(result);
}

}  // namespace segue
