// The page: who is better and how surely, at what cost, along the way, where in the text, and what differs.
#include "core/compare/comparison_page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"
#include "core/compare/compared_runs.h"
#include "core/compare/measure_drawings.h"
#include "core/compare/result_tables.h"
#include "core/compare/variant_drawings.h"
#include "core/drawing/markup.h"
#include "core/drawing/numbers.h"
#include "core/drawing/page.h"

namespace segue {

namespace {

using report::Page;
using report::Plot;
using report::Series;

void add_costs(Page& page, const ComparisonResult& result) {
  page.section("costs", "What they cost");
  report::Table table{.head = {"variant", "parameters", "steps", "tokens", "FLOP", "time", "tokens/s", "in evaluation",
                               "stream", "process"},
                      .rows = {},
                      .title = kCostsTitle};
  for (const ComparedVariant& variant : result.variants) {
    const VariantCost& cost = variant.cost;
    const auto measured = [&](const std::string& text) { return variant.runs.empty() ? "diverged" : text; };
    table.rows.push_back({variant.name, report::with_prefix(static_cast<double>(cost.parameters)),
                          human_count(cost.steps), measured(report::with_prefix(cost.tokens)),
                          fmt::format("{:.3g}", cost.flops), measured(human_duration(cost.seconds)),
                          measured(report::with_prefix(cost.trained_per_second)),
                          measured(report::with_prefix(cost.evaluated_per_second)), human_bytes(cost.memory_bytes),
                          cost.peak_bytes ? human_bytes(*cost.peak_bytes) : "not seen"});
  }
  page.html(report::table_html(table));
  page.paragraph(
      "Of one run, on average over the seeds. FLOP by the formulas of each model, forward and backward, of pairs of "
      "query and key those that are seen: where patterns are sparse kernels compute more, whole tiles of 64 by 64; "
      "time in steps; tokens per second in training and in evaluation; bytes that a stream keeps from segment to "
      "segment, and the most that a process held in training.");
}

void add_rates(Page& page, const ComparisonResult& result) {
  if (!result.variants.front().rate) return;
  page.section("rates", "Learning rates");
  const MeasureKind kind = chosen_by(result);
  const MeasureUnits units = units_of(result, kind);
  const bool by_accuracy = kind == MeasureKind::kAccuracy;
  Plot plot{.name = "learning-rates",
            .title = by_accuracy ? "Right answers on validation by learning rate" : "Validation loss by learning rate",
            .x_label = "learning rate",
            .y_label = units.name,
            .x_scale = report::ScaleKind::kLog,
            .series = {},
            .reference = 0};
  std::string at_end;
  std::string diverged;
  double flops = 0.0;
  for (size_t v = 0; v < result.variants.size(); ++v) {
    const ComparedVariant& variant = result.variants[v];
    Series series{.name = variant.name, .colour = static_cast<int64_t>(v), .has_markers = true, .points = {}};
    for (const SweptRate::Tried& one : variant.rate->tried) {
      if (const std::optional<double> found = found_at(result, one, kind))
        series.points.push_back({.x = one.learning_rate, .y = *found});
      if (!one.loss)
        diverged += fmt::format("{}{} at {}", diverged.empty() ? "" : ", ", variant.name, one.learning_rate);
    }
    plot.series.push_back(std::move(series));
    flops += variant.rate->flops;
    if (variant.rate->tells_ends() && variant.rate->is_at_end()) at_end += (at_end.empty() ? "" : ", ") + variant.name;
  }
  if (!at_end.empty()) at_end = " A better one may lie beyond those tried for " + at_end + ".";
  if (!result.variants.front().rate->tells_ends()) at_end = " Of two rates each is an end: better ones may lie beyond.";
  if (!diverged.empty()) diverged = " Diverged: " + diverged + ".";
  page.figure({.charts = {plot},
               .caption = fmt::format("Every variant takes the learning rate with the {} on the validation split, of "
                                      "those tried from the first seed, which took {:.3g} FLOP.{}{}",
                                      by_accuracy ? "most right answers (of as many, the lower loss)" : "lowest loss",
                                      flops, diverged, at_end),
               .table = {}});
}

// Where on the x axis a step of a variant lies.
using Where = double (*)(const ComparisonResult&, const ComparedVariant&, const report::ValidationPoint&);

double tokens_at(const ComparisonResult& /*result*/, const ComparedVariant& /*variant*/,
                 const report::ValidationPoint& point) {
  return static_cast<double>(point.tokens);
}

double flops_at(const ComparisonResult& result, const ComparedVariant& variant, const report::ValidationPoint& point) {
  return flops_of_steps(variant.config, result.vocab_size, point.step);
}

double minutes_at(const ComparisonResult& /*result*/, const ComparedVariant& /*variant*/,
                  const report::ValidationPoint& point) {
  constexpr double kSecondsPerMinute = 60.0;
  return point.seconds / kSecondsPerMinute;
}

// The mean over seeds of the validation losses at each step that all of them were evaluated at.
Series validation_of(const ComparisonResult& result, size_t v, Where where) {
  const ComparedVariant& variant = result.variants[v];
  Series series{.name = variant.name, .colour = static_cast<int64_t>(v), .has_markers = true, .points = {}};
  if (variant.runs.empty()) return series;
  for (const report::ValidationPoint& point : variant.runs.front().metrics.validation) {
    const auto count = static_cast<double>(variant.runs.size());
    report::ValidationPoint mean{.step = point.step, .tokens = point.tokens};
    double bits = 0.0;
    size_t found = 0;
    for (const report::RunData& run : variant.runs) {
      const auto same = std::ranges::find(run.metrics.validation, point.step, &report::ValidationPoint::step);
      if (same == run.metrics.validation.end()) continue;
      bits += result.bits(same->loss, same->bits_per_byte) / count;
      mean.seconds += same->seconds / count;
      ++found;
    }
    if (found < variant.runs.size()) continue;
    series.points.push_back({.x = where(result, variant, mean), .y = bits});
  }
  return series;
}

Plot curves_by(const ComparisonResult& result, const std::string& name, const std::string& x_label, Where where) {
  Plot plot{.name = "validation-by-" + name,
            .title = "Validation loss by " + name,
            .x_label = x_label,
            .y_label = result.bits_name(),
            .series = {},
            .reference = 0};
  for (size_t v = 0; v < result.variants.size(); ++v) plot.series.push_back(validation_of(result, v, where));
  return plot;
}

void add_curves(Page& page, const ComparisonResult& result) {
  page.section("curves", "Along the way");
  const Plot by_tokens = curves_by(result, "tokens", "tokens trained on", tokens_at);
  if (!report::has_points(by_tokens)) {
    page.missing("The runs were not evaluated on the way; they are with", R"("evaluation": {"interval": 500})");
    return;
  }
  page.figure({.charts = {by_tokens},
               .caption =
                   "Validation loss by tokens trained on, the mean over seeds, as each run evaluated itself during "
                   "training.",
               .table = {}});
  page.figure({.charts = {curves_by(result, "FLOP", "FLOP, forward and backward", flops_at),
                          curves_by(result, "time", "minutes in steps", minutes_at)},
               .caption = "The same by operations and by time: lines that cross are choices that depend on the budget.",
               .table = {}});
}

// Losses by a part of the text, averaged over the seeds of a variant.
using PartsOf = std::vector<report::LossOfPart> report::EvaluatedLength::*;

Series parts_of(const ComparisonResult& result, size_t v, PartsOf parts, report::IsEnough is_enough) {
  const ComparedVariant& variant = result.variants[v];
  Series series{.name = variant.name, .colour = static_cast<int64_t>(v), .points = {}};
  const auto list_of = [&](const report::RunData& run) {
    return report::joined(measured_at(run, result.points() - 1).*parts, is_enough);
  };
  const auto count = static_cast<double>(variant.runs.size());
  for (const report::RunData& run : variant.runs) {
    const std::vector<report::LossOfPart> list = list_of(run);
    series.points.resize(list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      series.points[i].x = 0.5 * static_cast<double>(list[i].from + list[i].to);
      series.points[i].y += result.bits(list[i].loss, list[i].bits_per_byte()) / count;
    }
  }
  return series;
}

Plot parts_plot(const ComparisonResult& result, const std::string& what, const std::string& x_label, PartsOf parts,
                report::IsEnough is_enough) {
  Plot plot{.name = "loss-by-" + what,
            .title = "Loss by " + what,
            .x_label = x_label,
            .y_label = result.bits_name(),
            .x_scale = report::ScaleKind::kLogFromZero,
            .series = {},
            .reference = 0};
  for (size_t v = 0; v < result.variants.size(); ++v) plot.series.push_back(parts_of(result, v, parts, is_enough));
  return plot;
}

void add_parts(Page& page, const ComparisonResult& result) {
  page.section("parts", "Where in the text");
  const auto is_known = [](const ComparedVariant& variant) { return !variant.points.empty(); };
  const ComparedVariant& known = *std::ranges::find_if(result.variants, is_known);
  page.figure({.charts = {parts_plot(result, "position", "position in the segment",
                                     &report::EvaluatedLength::by_position, report::is_wide_for_its_place),
                          parts_plot(result, "context", "tokens that could be attended to",
                                     &report::EvaluatedLength::by_context, report::has_many_tokens)},
               .caption = fmt::format("Loss by position in the segment, and by available context, the mean over seeds "
                                      "({} for {}).",
                                      lengths_text(known.points.back()), known.name),
               .table = {}});
}

// A row for every key that a variant reads and has otherwise than the first. What it does not read follows from these.
report::Table differences_table(const ComparisonResult& result, const std::vector<Config>& configs) {
  report::Table table{.head = {"variant", "key", "value", "of " + result.variants.front().name},
                      .rows = {},
                      .is_of_words = true,
                      .title = "Keys that differ from " + result.variants.front().name};
  constexpr std::string_view kNotRead = "not read";  // as differences_of says it
  const std::vector<ConfigDifference> differences = differences_of(configs);
  for (size_t v = 1; v < configs.size(); ++v) {
    const std::string& name = result.variants[v].name;
    const size_t before = table.rows.size();
    for (const auto& [key, values] : differences) {
      if (values[v] == values[0] || values[v] == kNotRead) continue;
      table.rows.push_back({table.rows.size() == before ? name : "", key, values[v], values[0]});
    }
    if (table.rows.size() == before) table.rows.push_back({name, "none", "", ""});
  }
  return table;
}

void add_configs(Page& page, const ComparisonResult& result) {
  page.section("configs", "What differs");
  std::vector<Config> configs;
  for (const ComparedVariant& variant : result.variants) configs.push_back(variant.config);
  page.html(report::table_html(differences_table(result, configs)));
  page.figure(visible_pairs_of(result));
  if (const report::Figure biases = biases_of(result); !biases.charts.empty()) page.figure(biases);
  page.details("The config of " + result.variants.front().name,
               "<pre>" + report::escaped(to_json(configs.front()).dump(2)) + "</pre>\n");
}

// By what tells most, of each as it was trained, or else at the first of the measured lengths.
std::string summary_of(const ComparisonResult& result) {
  const std::vector<PointSet> sets = point_sets(result);
  if (sets.empty()) return "All diverged.";
  const PointSet& set = sets.front();
  const MeasureKind kind = result.measures().front();
  const MeasureUnits units = units_of(result, kind);
  std::optional<size_t> best;
  const auto mean_of = [&](size_t v) { return set.find(v, kind)->mean(); };
  for (size_t v = 0; v < result.variants.size(); ++v) {
    if (set.find(v, kind) == nullptr) continue;
    const bool is_better =
        !best || (units.is_higher_better ? mean_of(v) > mean_of(*best) : mean_of(v) < mean_of(*best));
    if (is_better) best = v;
  }
  const ComparedVariant& variant = result.variants[*best];
  const std::string of =
      fmt::format("{} at {} {}", variant.name, report::fixed(mean_of(*best) * units.scale, units.decimals), units.name);
  const std::string diverged =
      variant.diverged.empty() ? "" : fmt::format(" where it did not diverge ({})", divergence_of(result, variant));
  if (*best == 0) {
    std::vector<std::string> level;
    for (size_t v = 1; v < result.variants.size(); ++v) {
      const VariantMeasure* measure = set.find(v, kind);
      if (measure != nullptr && measure->difference && !measure->difference->is_significant())
        level.push_back(result.variants[v].name);
    }
    return fmt::format("None is {} {}{}{}.", units.is_higher_better ? "above" : "below", of, diverged,
                       level.empty() ? "" : fmt::format("; not significantly worse: {}", fmt::join(level, ", ")));
  }
  const char* const extreme = units.is_higher_better ? "highest" : "lowest";
  const std::optional<SeedDifference>& difference = set.find(*best, kind)->difference;
  if (!difference) return fmt::format("The {} is {}{}.", extreme, of, diverged);
  return fmt::format("The {} is {}{}; its difference from {}: {}.", extreme, of, diverged, result.variants.front().name,
                     verdict_of(*difference, units));
}

}  // namespace

report::Page comparison_page(const ComparisonResult& result, const std::string& title) {
  Page page({.kicker = fmt::format("Comparison \xC2\xB7 {} of {} runs measured \xC2\xB7 {:%Y-%m-%d %H:%M} UTC",
                                   result.measured_runs, result.runs, fmt::gmtime(std::time(nullptr))),
             .title = title,
             .summary = fmt::format("{} {} variants, seeds {}{}{}.", summary_of(result), result.variants.size(),
                                    fmt::join(result.seeds, ", "), result.set.empty() ? "" : ", with ",
                                    fmt::join(result.set, ", ")),
             .made_by = "segue compare"});
  add_measures(page, result);
  add_costs(page, result);
  add_rates(page, result);
  if (result.points() > 0) {
    add_curves(page, result);
    add_parts(page, result);
  }
  add_configs(page, result);
  return page;
}

}  // namespace segue
