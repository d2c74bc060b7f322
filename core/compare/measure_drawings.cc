// Differences from the first variant, with intervals and as a table, and values by length.
#include "core/compare/measure_drawings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "core/compare/accuracy_drawings.h"
#include "core/compare/result_tables.h"
#include "core/drawing/numbers.h"

namespace segue {

namespace {

using report::Page;
using report::Plot;
using report::Series;

std::string value_text(double value, const std::optional<double>& spread, const MeasureUnits& units) {
  std::string text = report::fixed(value * units.scale, units.decimals);
  if (spread) text += " \xC2\xB1 " + report::fixed(*spread * units.scale, units.decimals);
  return text;
}

std::string p_text(double p) { return p < 0.001 ? "< 0.001" : report::fixed(p, 3); }

// Whether segments of one length are measured; the caption beside a table names that of the first variant.
bool is_one_length(const PointSet& set) {
  return std::ranges::all_of(set.points, [&](const VariantPoint* point) {
    return point == nullptr || set.points.front() == nullptr || point->tgt_len == set.points.front()->tgt_len;
  });
}

report::Table table_of(const ComparisonResult& result, const PointSet& set, MeasureKind kind) {
  const std::string& first = result.variants.front().name;
  const MeasureUnits units = units_of(result, kind);
  report::Table table{.head = {"variant", units.name + " \xC2\xB1 of the text", "above " + first, "p", ""},
                      .rows = {},
                      .title = title_of(result, set, kind)};
  const bool has_seeds = result.seeds.size() > 1;
  if (has_seeds) table.head.emplace_back("each seed");
  const bool has_lengths = kind == result.measures().front();  // the tables of another measure have the same
  const bool has_segments = has_lengths && !is_one_length(set);
  if (has_segments) table.head.emplace_back("segment");
  if (has_lengths) table.head.emplace_back("memory");
  for (size_t v = 0; v < result.variants.size(); ++v) {
    const ComparedVariant& variant = result.variants[v];
    std::string value, above, p, verdict = divergence_of(result, variant), of_seeds, segment, memory;
    if (const VariantMeasure* measure = set.find(v, kind)) {
      value = value_text(measure->mean(), measure->confidence95(), units);
      of_seeds = text_of_seeds(*measure, units);
      segment = human_count(set.points[v]->tgt_len);
      memory = human_count(set.points[v]->mem_len);
      if (v == 0) above = kBaseline;
      if (const std::optional<SeedDifference>& difference = measure->difference) {
        above = fmt::format("{}{}", difference->mean < 0.0 ? "" : "+",
                            value_text(difference->mean, difference->confidence95, units));
        if (difference->p_adjusted) p = p_text(*difference->p_adjusted);
        verdict.insert(0, verdict_of(*difference, units) + (verdict.empty() ? "" : "; "));
      }
    }
    std::vector<std::string>& row = table.rows.emplace_back(std::vector{variant.name, value, above, p, verdict});
    if (has_seeds) row.push_back(of_seeds);
    if (has_segments) row.push_back(segment);
    if (has_lengths) row.push_back(memory);
  }
  return table;
}

std::string chart_name(const PointSet& set, MeasureKind kind) {
  const std::string name = kind == MeasureKind::kAccuracy ? "accuracy-differences" : "differences";
  return set.name.empty() ? name : name + "-" + set.name;
}

// Of the seeds that both have.
std::vector<double> differences_of_seeds(const VariantMeasure& measure, const VariantMeasure& first, double scale) {
  std::vector<double> differences;
  for (size_t s = 0; s < measure.of_seeds.size(); ++s) {
    if (measure.of_seeds[s] && first.of_seeds[s])
      differences.push_back((*measure.of_seeds[s] - *first.of_seeds[s]) * scale);
  }
  return differences;
}

report::IntervalChart differences_of(const ComparisonResult& result, const PointSet& set, MeasureKind kind) {
  const MeasureUnits units = units_of(result, kind);
  const std::string& first = result.variants.front().name;
  report::IntervalChart chart{
      .name = chart_name(set, kind),
      .title = "Differences from " + first + (set.title.empty() ? "" : ", " + set.title),
      .x_label = kind == MeasureKind::kAccuracy
                     ? fmt::format("difference from {}, percentage points; higher is better", first)
                     : fmt::format("{} above {}; lower is better", units.name, first),
      .intervals = {}};
  for (size_t v = 1; v < result.variants.size(); ++v) {
    const VariantMeasure* measure = set.find(v, kind);
    if (measure == nullptr || !measure->difference) continue;
    const SeedDifference& difference = *measure->difference;
    report::Interval interval{.name = result.variants[v].name,
                              .colour = colour_of_row(result, static_cast<int64_t>(v)),
                              .value = difference.mean * units.scale,
                              .text = fmt::format("{:+.{}f}", difference.mean * units.scale, units.decimals)};
    if (difference.confidence95) interval.spread = *difference.confidence95 * units.scale;
    if (difference.is_significant()) interval.text += " *";
    if (set.find(0, kind) != nullptr && result.seeds.size() > 1)
      interval.each = differences_of_seeds(*measure, *set.find(0, kind), units.scale);
    chart.intervals.push_back(std::move(interval));
  }
  return chart;
}

// Which variants diverged, from which seeds.
std::string diverged_text(const ComparisonResult& result) {
  std::string text;
  for (const ComparedVariant& variant : result.variants) {
    if (variant.diverged.empty()) continue;
    text += fmt::format("{}{} from seed{} {}", text.empty() ? "" : "; ", variant.name,
                        variant.diverged.size() == 1 ? "" : "s", fmt::join(variant.diverged, ", "));
  }
  return text;
}

// Which differences have no interval.
std::string unknown_text(const ComparisonResult& result, const PointSet& set, MeasureKind kind) {
  std::vector<std::string> names;
  for (size_t v = 1; v < result.variants.size(); ++v) {
    const VariantMeasure* measure = set.find(v, kind);
    if (measure != nullptr && measure->difference && !measure->difference->confidence95)
      names.push_back(result.variants[v].name);
  }
  return names.empty()
             ? ""
             : fmt::format("; no interval where too few seeds or tokens are left: {}", fmt::join(names, ", "));
}

void add_set(Page& page, const ComparisonResult& result, const PointSet& set, MeasureKind kind) {
  const ComparedVariant& first = result.variants.front();
  const std::string of = result.seeds.size() == 1
                             ? "of the text alone, as one seed says nothing of others"
                             : "of both other text of this kind and other seeds, and a ring for each seed";
  const report::IntervalChart chart = differences_of(result, set, kind);
  const std::string what = kind == MeasureKind::kAccuracy
                               ? human_count(result.answers) + " answers"
                               : human_count(result.tokens) + " tokens" + unknown_of_them(result.unknown);
  if (!chart.intervals.empty())
    page.figure(
        {.charts = {chart},
         .caption = fmt::format(
             "Differences from {} ({}){} on {} of split {}, the same for every variant, with 95 % intervals {}. A star "
             "marks those that are significant at 5 % for all variants together (Holm){}.",
             first.name, lengths_text(*set.points.front()), set.title.empty() ? "" : ", " + set.title + ",", what,
             result.split, of, unknown_text(result, set, kind))});
  page.html(report::table_html(table_of(result, set, kind)));
}

// Tokens of a segment and the memory before it.
double reach_of(const VariantPoint& point) { return static_cast<double>(point.tgt_len + point.mem_len); }

// All variants at the measured lengths, unless two of these are as long.
void add_lengths(Page& page, const ComparisonResult& result, MeasureKind kind) {
  const MeasureUnits units = units_of(result, kind);
  const bool is_accuracy = kind == MeasureKind::kAccuracy;
  Plot plot{.name = is_accuracy ? "accuracy-by-reach" : "loss-by-length",
            .title = is_accuracy ? "Accuracy by memory" : "Loss by length",
            .x_label = "tokens of segment and memory",
            .y_label = units.name,
            .x_scale = report::ScaleKind::kLog,
            .series = {},
            .reference = 0};
  for (size_t v = 0; v < result.variants.size(); ++v) {
    Series series{
        .name = result.variants[v].name, .colour = static_cast<int64_t>(v), .has_markers = true, .points = {}};
    for (const VariantPoint& point : result.variants[v].points)
      series.points.push_back({.x = reach_of(point), .y = point.find(kind)->mean() * units.scale});
    std::ranges::sort(series.points, {}, &report::Point::x);
    if (std::ranges::adjacent_find(series.points, {}, &report::Point::x) != series.points.end()) return;
    plot.series.push_back(std::move(series));
  }
  page.figure({.charts = {plot},
               .caption = fmt::format("{} at all measured lengths: mean over the seeds.",
                                      is_accuracy ? "Right answers" : "Losses"),
               .table = {}});
}

}  // namespace

int64_t colour_of_row(const ComparisonResult& result, int64_t variant) {
  return std::ssize(result.variants) > report::kSeriesColours ? 0 : variant;
}

std::string lone_text(const ComparisonResult& result) {
  std::vector<std::string> names;
  for (const ComparedVariant& variant : result.variants)
    if (!variant.diverged.empty() && variant.runs.size() == 1) names.push_back(variant.name);
  if (names.empty()) return "";
  return fmt::format("; {} {} one seed left, and no interval", fmt::join(names, ", "),
                     names.size() == 1 ? "has" : "have");
}

std::string lengths_text(const VariantPoint& point) {
  return fmt::format("segments of {}, memory {}", human_count(point.tgt_len), human_count(point.mem_len));
}

void add_measures(Page& page, const ComparisonResult& result) {
  const std::string diverged = diverged_text(result);
  if (!diverged.empty() || result.measures().empty()) {
    page.section("diverged", "What diverged");
    page.paragraph(
        "Diverged: " + diverged +
        ". Means leave these out, and a difference is of the seeds that both variants have: results describe "
        "only runs that finished" +
        lone_text(result) + ".");
  }
  for (const MeasureKind kind : result.measures()) {
    const bool is_accuracy = kind == MeasureKind::kAccuracy;
    page.section(is_accuracy ? "answers" : "losses", is_accuracy          ? "Which answers best, and how surely"
                                                     : result.answers > 0 ? "Losses of the answers"
                                                                          : "Which is better, and how surely");
    if (result.points() > 1) add_lengths(page, result, kind);
    for (const PointSet& set : point_sets(result)) add_set(page, result, set, kind);
    if (is_accuracy) add_accuracy_drawings(page, result);
  }
}

}  // namespace segue
