// Names are plain, so that no cell needs quotes.
#include "core/compare/result_csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/compare/result_tables.h"

namespace segue {

namespace {

std::string line_of(const std::vector<std::string>& cells) { return fmt::format("{}\n", fmt::join(cells, ",")); }

std::string cell_of(const std::optional<double>& value, double scale = 1.0) {
  return value ? fmt::format("{}", *value * scale) : std::string();
}

std::string measure_line(const ComparisonResult& result, const PointSet& set, MeasureKind kind, size_t v) {
  const ComparedVariant& variant = result.variants[v];
  const MeasureUnits units = units_of(result, kind);
  const VariantMeasure* measure = set.find(v, kind);
  std::vector<std::string> cells{kind == MeasureKind::kAccuracy ? "accuracy" : "loss",
                                 set.name == kAsTrained ? "as trained" : "measured", variant.name};
  if (measure == nullptr) {
    cells.resize(cells.size() + 10 + result.seeds.size());
    cells.push_back(fmt::format("{}", variant.diverged.size()));
    return line_of(cells);
  }
  const std::optional<SeedDifference>& difference = measure->difference;
  cells.insert(cells.end(),
               {fmt::format("{}", set.points[v]->tgt_len), fmt::format("{}", set.points[v]->mem_len), units.name,
                cell_of(measure->mean(), units.scale), cell_of(measure->confidence95(), units.scale)});
  if (difference) {
    cells.insert(cells.end(),
                 {cell_of(difference->mean, units.scale), cell_of(difference->confidence95, units.scale),
                  cell_of(difference->p), cell_of(difference->p_adjusted), verdict_of(*difference, units)});
  } else {
    cells.resize(cells.size() + 5);
  }
  for (const std::optional<double>& of_seed : measure->of_seeds) cells.push_back(cell_of(of_seed, units.scale));
  cells.push_back(fmt::format("{}", variant.diverged.size()));
  return line_of(cells);
}

std::string measures_csv(const ComparisonResult& result) {
  std::vector<std::string> head{"measure", "lengths",    "variant",      "tgt_len",    "mem_len",
                                "unit",    "value",      "confidence95", "difference", "difference_confidence95",
                                "p",       "p_adjusted", "verdict"};
  for (const int64_t seed : result.seeds) head.push_back(fmt::format("seed_{}", seed));
  head.emplace_back("diverged_seeds");
  std::string text = line_of(head);
  for (const MeasureKind kind : result.measures())
    for (const PointSet& set : point_sets(result))
      for (size_t v = 0; v < result.variants.size(); ++v) text += measure_line(result, set, kind, v);
  return text;
}

std::string costs_csv(const ComparisonResult& result) {
  std::string text =
      "variant,parameters,steps,tokens,flops,seconds,training_tokens_per_second,evaluation_tokens_per_second,"
      "memory_bytes_per_stream,peak_bytes\n";
  for (const ComparedVariant& variant : result.variants) {
    const VariantCost& cost = variant.cost;
    const auto measured = [&](double value) { return variant.runs.empty() ? std::string() : fmt::format("{}", value); };
    text += line_of({variant.name, fmt::format("{}", cost.parameters), fmt::format("{}", cost.steps),
                     measured(cost.tokens), fmt::format("{}", cost.flops), measured(cost.seconds),
                     measured(cost.trained_per_second), measured(cost.evaluated_per_second),
                     fmt::format("{}", cost.memory_bytes), cost.peak_bytes ? fmt::format("{}", *cost.peak_bytes) : ""});
  }
  return text;
}

std::string rates_csv(const ComparisonResult& result) {
  const MeasureUnits loss = units_of(result, MeasureKind::kLoss);
  std::string text = "variant,learning_rate,validation_loss,unit,validation_accuracy_percent,is_chosen\n";
  for (const ComparedVariant& variant : result.variants) {
    for (const SweptRate::Tried& tried : variant.rate->tried)
      text += line_of({variant.name, fmt::format("{}", tried.learning_rate),
                       cell_of(found_at(result, tried, MeasureKind::kLoss)), loss.name,
                       cell_of(found_at(result, tried, MeasureKind::kAccuracy)),
                       tried.learning_rate == variant.rate->learning_rate() ? "true" : "false"});
  }
  return text;
}

}  // namespace

std::vector<CsvFile> result_csv(const ComparisonResult& result) {
  if (result.variants.empty()) return {};
  std::vector<CsvFile> files{{"measures.csv", measures_csv(result)}, {"costs.csv", costs_csv(result)}};
  if (result.variants.front().rate) files.push_back({"learning_rates.csv", rates_csv(result)});
  return files;
}

}  // namespace segue
