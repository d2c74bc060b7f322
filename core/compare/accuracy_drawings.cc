#include "core/compare/accuracy_drawings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "core/compare/compared_answers.h"
#include "core/compare/measure_drawings.h"
#include "core/compare/result_tables.h"

namespace segue {

namespace {

using report::Answers;
using report::kPercent;
using report::Page;
using report::Plot;

// What a variant answered at the lengths that all drawings but that of its state are of: its own, or else the last that
// were measured, as of losses by part of the text.
struct DrawnVariant {
  const ComparedVariant* variant = nullptr;
  const VariantPoint* point = nullptr;
  int64_t colour = 0;
  std::vector<const Answers*> of_seeds = {};
};

std::vector<DrawnVariant> drawn_variants(const ComparisonResult& result) {
  std::vector<DrawnVariant> drawn;
  const std::vector<PointSet> sets = point_sets(result);
  const PointSet& set = sets.front().name == kAsTrained ? sets.front() : sets.back();
  for (size_t v = 0; v < result.variants.size(); ++v) {
    if (set.find(v, MeasureKind::kAccuracy) == nullptr) continue;
    drawn.push_back({&result.variants[v], set.points[v], static_cast<int64_t>(v),
                     answers_of_seeds(result, result.variants[v], set.points[v]->number)});
  }
  return drawn;
}

// " (segments of 32, memory 64 for xl)"
std::string lengths_of(const std::vector<DrawnVariant>& drawn) {
  return fmt::format(" ({} for {})", lengths_text(*drawn.front().point), drawn.front().variant->name);
}

constexpr const char* kRingsInstead = "a ring for each seed";

// `instead`: of an interval that would cover the whole axis.
std::string interval_text(const ComparisonResult& result, const std::string& instead = kRingsInstead) {
  if (result.seeds.size() == 1) return "95 % intervals that reflect the test text alone (one seed)";
  return fmt::format(
      "95 % intervals over the seeds, or of the text where these are wider (where one would cover the whole axis, "
      "{}){}",
      instead, lone_text(result));
}

// Of all answers, at the bytes of state of one of the measured lengths.
report::ShareAt share_by_state(const ComparisonResult& result, const ComparedVariant& variant,
                               const VariantPoint& point) {
  const auto bytes = static_cast<double>(point.memory_bytes);
  const report::SharesOf all = [bytes](const Answers& answers) { return report::Shares{{bytes, answers.total}}; };
  return shares_over_seeds(answers_of_seeds(result, variant, point.number), all).front();
}

// A line for each variant through all lengths that were measured.
void add_lines_by_state(Page& page, const ComparisonResult& result, const std::vector<DrawnVariant>& drawn) {
  std::vector<report::AnswerLine> lines;
  bool has_none = false;
  for (const DrawnVariant& of : drawn) {
    report::AnswerLine& line = lines.emplace_back(report::AnswerLine{.name = of.variant->name, .colour = of.colour});
    for (const VariantPoint& point : of.variant->points)
      line.shares.push_back(share_by_state(result, *of.variant, point));
    std::ranges::stable_sort(line.shares, {}, &report::ShareAt::x);
    has_none = has_none || line.shares.front().x == 0.0;
  }
  Plot plot = report::plot_of_shares("state", "bytes of state per stream", lines);
  plot.reference = 0;
  page.figure(
      {.charts = {plot},
       .caption = fmt::format("Right answers against the bytes that a stream keeps from segment to segment, "
                              "stored as in training, at all measured lengths, with {}.{}",
                              interval_text(result),
                              has_none ? " What keeps nothing is at 0; the rest of the axis is logarithmic." : ""),
       .table = {}});
}

// A row for each variant, by its state: variants often have the same, and would lie on one another in a plot by it.
void add_rows_by_state(Page& page, const ComparisonResult& result, const std::vector<DrawnVariant>& drawn) {
  report::IntervalChart chart{.name = "accuracy-by-state",
                              .title = "Accuracy and bytes of state",
                              .x_label = "right answers, %; on the right: bytes of state per stream",
                              .bounds = report::Range{0.0, kPercent},
                              .intervals = {}};
  std::vector<std::pair<double, report::Interval>> rows;
  for (const DrawnVariant& of : drawn) {
    const auto& [bytes, share, each] = share_by_state(result, *of.variant, *of.point);
    report::Interval row{.name = of.variant->name,
                         .colour = colour_of_row(result, of.colour),
                         .value = kPercent * share.accuracy,
                         .text = human_bytes(of.point->memory_bytes)};
    if (share.confidence95 && !report::holds_all(share)) row.spread = kPercent * *share.confidence95;
    for (const double accuracy : each) row.each.push_back(kPercent * accuracy);
    if (rows.empty()) chart.origin = row.value;
    rows.emplace_back(bytes, std::move(row));
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
    return std::pair(a.first, a.second.value) > std::pair(b.first, b.second.value);
  });
  for (auto& [bytes, row] : rows) chart.intervals.push_back(std::move(row));
  page.figure({.charts = {chart},
               .caption = fmt::format("Right answers, by the bytes that a stream keeps from segment to segment, stored "
                                      "as in training, with {}. Rings: each seed; the line: {}.",
                                      interval_text(result, "none"), drawn.front().variant->name),
               .table = {}});
}

std::string caption_of(const ComparisonResult& result, const std::vector<DrawnVariant>& drawn,
                       const std::optional<report::ExampleKey>& key, bool is_marked) {
  const std::string lengths = lengths_of(drawn);
  const std::string intervals = interval_text(result);
  if (!key)
    return fmt::format(
        "Right answers by the distance to the token that determines them{}, in bins that double in width, with {}.",
        lengths, intervals);
  return fmt::format("Right answers by {}{}, those of all others together, with {}{}.",
                     key->trait.empty() ? "the length of the examples" : key->trait + " of the examples", lengths,
                     intervals, is_marked ? "; the mark: the longest in training" : "");
}

void add_plots(Page& page, const ComparisonResult& result, const std::vector<DrawnVariant>& drawn,
               const Answers& first) {
  const auto lines_of = [&](const report::SharesOf& shares_of) {
    std::vector<report::AnswerLine> lines;
    for (const DrawnVariant& of : drawn)
      lines.push_back({of.variant->name, of.colour, shares_over_seeds(of.of_seeds, shares_of)});
    return lines;
  };
  for (auto& [plot, key] : report::answer_plots(report::varying_keys(first), lines_of, first.longest_trained)) {
    plot.reference = 0;
    const std::string caption = caption_of(result, drawn, key, !plot.marks.empty());
    page.figure({.charts = {std::move(plot)}, .caption = caption, .table = {}});
  }
}

void add_grids(Page& page, const std::vector<DrawnVariant>& drawn, const Answers& first) {
  std::vector<report::HeatTable> grids;
  for (const report::ExampleKey& key : report::varying_keys(first)) {
    if (key.trait.empty()) continue;
    for (const DrawnVariant& of : drawn) {
      std::optional<report::HeatTable> grid = report::grid_of(examples_over_seeds(of.of_seeds), key.trait);
      if (!grid) continue;
      grid->title = of.variant->name;
      grids.push_back(std::move(*grid));
    }
  }
  if (grids.empty()) return;
  page.figure(
      {.html = report::grids_html(grids),
       .caption = fmt::format("Right answers by two properties of the examples at once{}, the mean over the seeds; "
                              "the stronger the colour, the more are right.",
                              lengths_of(drawn))});
}

}  // namespace

void add_accuracy_drawings(Page& page, const ComparisonResult& result) {
  const std::vector<DrawnVariant> drawn = drawn_variants(result);
  if (drawn.empty()) return;
  const auto first = std::ranges::find_if(drawn.front().of_seeds, [](const Answers* of) { return of != nullptr; });
  if (result.points() > 1)
    add_lines_by_state(page, result, drawn);
  else
    add_rows_by_state(page, result, drawn);
  add_plots(page, result, drawn, **first);
  add_grids(page, drawn, **first);
}

}  // namespace segue
