// Means over seeds, with intervals over seeds.
#include "core/compare/accuracy_drawings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "core/compare/compared_answers.h"

namespace segue {

namespace {

using report::Answers;
using report::kPercent;
using report::Page;
using report::Plot;

// What a variant answered at the lengths that all drawings are of: its own, or else the first that were measured.
struct DrawnVariant {
  const ComparedVariant* variant = nullptr;
  const VariantPoint* point = nullptr;
  int64_t colour = 0;
  std::vector<const Answers*> of_seeds = {};
};

std::vector<DrawnVariant> drawn_variants(const ComparisonResult& result) {
  std::vector<DrawnVariant> drawn;
  const std::vector<PointSet> sets = point_sets(result);
  const PointSet& set = sets.front();
  for (size_t v = 0; v < result.variants.size(); ++v) {
    if (set.find(v, MeasureKind::kAccuracy) == nullptr) continue;
    drawn.push_back({&result.variants[v], set.points[v], static_cast<int64_t>(v),
                     answers_of_seeds(result, result.variants[v], set.points[v]->number)});
  }
  return drawn;
}

std::string interval_text(const ComparisonResult& result) {
  return result.seeds.size() == 1
             ? "95 % intervals that reflect the test text alone (one seed)"
             : "95 % intervals over the seeds, or of the text where these are wider (but for those "
               "that hold all from 0 to 100 %)";
}

// A point for each variant.
void add_state(Page& page, const ComparisonResult& result, const std::vector<DrawnVariant>& drawn) {
  Plot plot{.name = "accuracy-by-state",
            .title = "Accuracy by bytes of state",
            .x_label = "bytes of state per stream",
            .y_label = "right answers, %",
            .x_scale = report::ScaleKind::kLogFromZero,
            .y_range = report::Range{0.0, kPercent},
            .series = {}};
  bool has_none = false;
  for (const DrawnVariant& of : drawn) {
    std::vector<std::optional<report::AnswerShare>> shares;
    for (const Answers* answers : of.of_seeds)
      shares.push_back(answers == nullptr ? std::nullopt : std::optional(answers->total));
    const report::AnswerShare mean = share_over_seeds(shares);
    const auto bytes = static_cast<double>(of.point->memory_bytes);
    has_none = has_none || of.point->memory_bytes == 0;
    plot.series.push_back(
        {.name = of.variant->name,
         .colour = of.colour,
         .style = report::LineStyle::kPoints,
         .has_markers = true,
         .points = {{.x = bytes,
                     .y = kPercent * mean.accuracy,
                     .spread = report::drawn_spread(mean),
                     .title = fmt::format("{}\n{} a stream\n{}", of.variant->name, human_bytes(of.point->memory_bytes),
                                          report::share_text(mean))}}});
    if (std::ranges::count(plot.x_ticks, bytes) == 0) plot.x_ticks.push_back(bytes);
  }
  std::ranges::sort(plot.x_ticks);
  page.figure({.charts = {plot},
               .caption = fmt::format(
                   "Right answers against the bytes that a stream keeps from segment to segment, "
                   "stored as in training, with {}.{}",
                   interval_text(result),
                   has_none ? " At 0, left of the logarithmic part of the axis: those that keep nothing." : ""),
               .table = {}});
}

std::vector<report::AnswerLine> lines_of(const std::vector<DrawnVariant>& drawn, const SharesOf& shares_of) {
  std::vector<report::AnswerLine> lines;
  lines.reserve(drawn.size());
  for (const DrawnVariant& of : drawn)
    lines.push_back({of.variant->name, of.colour, shares_over_seeds(of.of_seeds, shares_of)});
  return lines;
}

void add_plots(Page& page, const ComparisonResult& result, const std::vector<DrawnVariant>& drawn,
               const Answers& first) {
  constexpr size_t kMostKeys = 6;
  std::vector<report::ExampleKey> keys = report::varying_keys(first);
  if (keys.size() > kMostKeys) keys.resize(kMostKeys);
  for (size_t k = 0; k < keys.size(); ++k) {
    const report::ExampleKey& key = keys[k];
    const auto shares_of = [&key](const Answers& answers) { return report::shares_by(answers, key); };
    Plot plot = report::plot_of_shares(key.name(), key.label(), lines_of(drawn, shares_of));
    const bool is_length = key.trait.empty();
    plot.name = is_length ? "accuracy-by-length" : fmt::format("accuracy-by-trait-{}", k + 1);
    if (is_length) report::mark_longest_trained(plot, first.longest_trained);
    page.figure({.charts = {plot},
                 .caption = fmt::format(
                     "Right answers by {}, with {}{}.",
                     is_length ? "the length of the examples" : key.trait + " of the examples", interval_text(result),
                     is_length && first.longest_trained ? "; the mark: the longest in training" : ""),
                 .table = {}});
  }
  const Plot by_distance = report::plot_of_shares("distance", "tokens back to what decides the answer",
                                                  lines_of(drawn, report::shares_by_distance));
  if (report::has_points(by_distance))
    page.figure(
        {.charts = {by_distance},
         .caption = fmt::format("Right answers by how far back what decides them stands, each point those of up "
                                "to twice as far as the one before, with {}.",
                                interval_text(result)),
         .table = {}});
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
  page.figure({.html = report::grids_html(grids),
               .caption = "Right answers by two properties of the examples at once, the mean over the seeds; darker is "
                          "more accurate."});
}

}  // namespace

void add_accuracy_drawings(Page& page, const ComparisonResult& result) {
  const std::vector<DrawnVariant> drawn = drawn_variants(result);
  if (drawn.empty()) return;
  const auto first = std::ranges::find_if(drawn.front().of_seeds, [](const Answers* of) { return of != nullptr; });
  add_state(page, result, drawn);
  add_plots(page, result, drawn, **first);
  add_grids(page, drawn, **first);
}

}  // namespace segue
