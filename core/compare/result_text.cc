#include "core/compare/result_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/json_fields.h"
#include "base/text.h"
#include "base/text_table.h"
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

using VariantCell = std::function<std::string(size_t variant)>;

// A column of a table with a row for every variant.
TextColumn column_of(const ComparisonResult& result, const std::string& head, const VariantCell& cell,
                     bool is_text = false) {
  TextColumn column{.head = head, .cells = {}, .is_text = is_text};
  for (size_t v = 0; v < result.variants.size(); ++v) column.cells.push_back(cell(v));
  return column;
}

TextColumn names_of(const ComparisonResult& result) {
  return column_of(
      result, "variant", [&](size_t v) { return result.variants[v].name; }, true);
}

// What is said of a variant beside its numbers.
std::string remark_on(const ComparisonResult& result, const VariantMeasure* measure, size_t v,
                      const MeasureUnits& units) {
  std::string diverged = divergence_of(result, result.variants[v]);
  if (measure == nullptr || !measure->difference) return diverged;
  return verdict_of(*measure->difference, units) + (diverged.empty() ? "" : "; ") + diverged;
}

// Nothing where the title of the table says the length of all.
void add_length(std::vector<TextColumn>& columns, const ComparisonResult& result, const PointSet& set, const char* head,
                int64_t VariantPoint::*length) {
  if (set.title.empty() && is_same_of_all(set, length)) return;
  columns.push_back(column_of(
      result, head, [&](size_t v) { return set.points[v] == nullptr ? "" : human_count(set.points[v]->*length); }));
}

std::string describe_set(const ComparisonResult& result, const PointSet& set, MeasureKind kind) {
  const MeasureUnits units = units_of(result, kind);
  const auto cell = [&](const std::function<std::string(const VariantMeasure&)>& text) {
    return [&set, kind, text](size_t v) {
      const VariantMeasure* const measure = set.find(v, kind);
      return measure == nullptr ? "" : text(*measure);
    };
  };
  std::vector<TextColumn> columns{names_of(result)};
  columns.push_back(column_of(result, units.name, cell([&](const VariantMeasure& measure) {
                                return plus_minus(measure.mean(), measure.confidence95(), units, false);
                              }),
                              true));
  columns.push_back(column_of(
      result, "above baseline",
      [&](size_t v) {
        const VariantMeasure* const measure = set.find(v, kind);
        if (measure == nullptr) return std::string();
        if (v == 0) return std::string(kBaseline);
        const std::optional<SeedDifference>& difference = measure->difference;
        return difference ? plus_minus(difference->mean, difference->confidence95, units, true) : "";
      },
      true));
  columns.push_back(column_of(result, "p", cell([](const VariantMeasure& measure) {
                                return measure.difference && measure.difference->p_adjusted
                                           ? p_in_table(*measure.difference->p_adjusted)
                                           : "";
                              })));
  columns.push_back(column_of(
      result, "", [&](size_t v) { return remark_on(result, set.find(v, kind), v, units); }, true));
  add_length(columns, result, set, "tgt_len", &VariantPoint::tgt_len);
  add_length(columns, result, set, "mem_len", &VariantPoint::mem_len);
  for (size_t s = 0; result.seeds.size() > 1 && s < result.seeds.size(); ++s)
    columns.push_back(column_of(result, fmt::format("seed {}", result.seeds[s]), cell([&](const VariantMeasure& of) {
                                  const std::optional<double>& value = of.of_seeds[s];
                                  return value ? fmt::format("{:.{}f}", *value * units.scale, units.decimals) : "";
                                })));
  return fmt::format("\n{}\n{}", title_of(result, set, kind), text_table(columns));
}

std::string describe_costs(const ComparisonResult& result) {
  std::vector<TextColumn> columns{names_of(result)};
  const auto add = [&](const char* head, const std::function<std::string(const VariantCost&)>& cell) {
    columns.push_back(column_of(result, head, [&](size_t v) { return cell(result.variants[v].cost); }));
  };
  const auto add_measured = [&](const char* head, const std::function<std::string(const VariantCost&)>& cell) {
    columns.push_back(column_of(
        result, head, [&](size_t v) { return result.variants[v].runs.empty() ? "" : cell(result.variants[v].cost); }));
  };
  add("parameters", [](const VariantCost& cost) { return human_count(cost.parameters); });
  add("steps", [](const VariantCost& cost) { return human_count(cost.steps); });
  add_measured("tokens", [](const VariantCost& cost) { return human_count(static_cast<int64_t>(cost.tokens)); });
  add("FLOP", [](const VariantCost& cost) { return fmt::format("{:.3g}", cost.flops); });
  add_measured("time", [](const VariantCost& cost) { return human_duration(cost.seconds); });
  add_measured("train tok/s", [](const VariantCost& cost) { return fmt::format("{:.0f}", cost.trained_per_second); });
  add_measured("eval tok/s", [](const VariantCost& cost) { return fmt::format("{:.0f}", cost.evaluated_per_second); });
  add("stream", [](const VariantCost& cost) { return human_bytes(cost.memory_bytes); });
  add("process", [](const VariantCost& cost) { return cost.peak_bytes ? human_bytes(*cost.peak_bytes) : ""; });
  return fmt::format("\n{}\n{}", kCostsTitle, text_table(columns));
}

// What a rate that was tried found: "0.003: 1.2345".
std::string tried_text(const ComparisonResult& result, const SweptRate::Tried& tried) {
  const MeasureKind kind = chosen_by(result);
  const std::optional<double> found = found_at(result, tried, kind);
  return found ? fmt::format("{}: {:.{}f}", tried.learning_rate, *found, units_of(result, kind).decimals)
               : fmt::format("{}: diverged", tried.learning_rate);
}

std::string describe_rates(const ComparisonResult& result) {
  if (!result.variants.front().rate) return "";
  const auto rate_of = [&](size_t v) -> const SweptRate& { return *result.variants[v].rate; };
  std::vector<TextColumn> columns{names_of(result)};
  size_t tried = 0;
  for (size_t v = 0; v < result.variants.size(); ++v) tried = std::max(tried, rate_of(v).tried.size());
  for (size_t i = 0; i < tried; ++i)
    columns.push_back(column_of(
        result, i == 0 ? "tried" : "",
        [&](size_t v) { return i < rate_of(v).tried.size() ? tried_text(result, rate_of(v).tried[i]) : ""; }, true));
  columns.push_back(column_of(result, "best", [&](size_t v) { return fmt::format("{}", rate_of(v).learning_rate()); }));
  columns.push_back(column_of(result, "FLOP", [&](size_t v) { return fmt::format("{:.3g}", rate_of(v).flops); }));
  std::vector<std::string> at_end;
  for (size_t v = 0; v < result.variants.size(); ++v)
    if (rate_of(v).tells_ends() && rate_of(v).is_at_end()) at_end.push_back(result.variants[v].name);
  std::string ends;
  if (!at_end.empty())
    ends =
        fmt::format("Best at the end of what was tried, so a better one may lie beyond: {}.", fmt::join(at_end, ", "));
  if (!rate_of(0).tells_ends()) ends = "Of two rates each is an end: better ones may lie beyond.";
  return fmt::format("\n{}\n{}{}", rates_title(result), text_table(columns), wrapped(ends, kTerminalColumns));
}

constexpr const char* kMeaning =
    "\xC2\xB1 is half of a 95 % interval: that of a mean is of the text, that of a difference of other text of this "
    "kind, which is paired, and of other seeds. p is adjusted for the number of variants in a table (Holm).";
constexpr const char* kMeaningOfOneSeed =
    "\xC2\xB1 is half of a 95 % interval, of the text alone: one seed says nothing of how others would differ. p is "
    "adjusted for the number of variants in a table (Holm).";
constexpr const char* kMeaningOfCosts =
    R"("stream" is what a stream keeps from segment to segment, "process" the most memory of a program that trained.)";
constexpr const char* kMeaningOfDiverged =
    "Means leave out the seeds that diverged, and a difference is of the seeds that both have: of trainings that end.";

// What the tables mean, a paragraph each.
std::string footnotes(const ComparisonResult& result) {
  const auto has_diverged = [](const ComparedVariant& variant) { return !variant.diverged.empty(); };
  std::string text = "\n" + wrapped(result.seeds.size() == 1 ? kMeaningOfOneSeed : kMeaning, kTerminalColumns);
  text += wrapped(kMeaningOfCosts, kTerminalColumns);
  if (std::ranges::any_of(result.variants, has_diverged)) text += wrapped(kMeaningOfDiverged, kTerminalColumns);
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
  if (result.variants.empty()) return wrapped(text + "; no seed of every variant yet", kTerminalColumns);
  text += fmt::format("; compared: {} variants from seed{} {}", result.variants.size(),
                      result.seeds.size() == 1 ? "" : "s", fmt::join(result.seeds, ", "));
  if (result.points() == 0) return wrapped(text + ", all of which diverged", kTerminalColumns) + describe_rates(result);
  text += fmt::format(", by {} tokens of split {}, the same of all{}", human_count(result.tokens), result.split,
                      unknown_of_them(result.unknown));
  text = wrapped(text, kTerminalColumns);
  for (const MeasureKind kind : result.measures())
    for (const PointSet& set : point_sets(result)) text += describe_set(result, set, kind);
  return text + describe_costs(result) + describe_rates(result) + footnotes(result);
}

}  // namespace segue
