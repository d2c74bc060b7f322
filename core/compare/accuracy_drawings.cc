// Means over seeds, with intervals over seeds.
#include "core/compare/accuracy_drawings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "core/compare/compared_answers.h"
#include "core/compare/measure_drawings.h"

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

report::AnswerShare total_over_seeds(const std::vector<const Answers*>& of_seeds) {
  std::vector<std::optional<report::AnswerShare>> shares;
  for (const Answers* answers : of_seeds)
    shares.push_back(answers == nullptr ? std::nullopt : std::optional(answers->total));
  return share_over_seeds(shares);
}

std::string interval_text(const ComparisonResult& result) {
  return result.seeds.size() == 1 ? "95 % intervals that reflect the test text alone (one seed)"
                                  : "95 % intervals over the seeds, or of the text where these are wider (one "
                                    "that covers the whole axis is not drawn)";
}

// A line for each variant through all lengths that were measured, or else a point.
void add_state(Page& page, const ComparisonResult& result, const std::vector<DrawnVariant>& drawn) {
  Plot plot{.name = "accuracy-by-state",
            .title = "Accuracy by bytes of state",
            .x_label = "bytes of state per stream",
            .y_label = "right answers, %",
            .x_scale = report::ScaleKind::kLogFromZero,
            .y_range = report::Range{0.0, kPercent},
            .series = {},
            .reference = 0};
  bool has_none = false;
  const bool has_lines = result.points() > 1;
  for (const DrawnVariant& of : drawn) {
    report::Series series{.name = of.variant->name, .colour = of.colour, .has_markers = true, .points = {}};
    if (!has_lines) series.style = report::LineStyle::kPoints;
    for (const VariantPoint& point : of.variant->points) {
      const report::AnswerShare mean = total_over_seeds(answers_of_seeds(result, *of.variant, point.number));
      const auto bytes = static_cast<double>(point.memory_bytes);
      has_none = has_none || point.memory_bytes == 0;
      series.points.push_back({.x = bytes,
                               .y = kPercent * mean.accuracy,
                               .spread = report::drawn_spread(mean),
                               .title = fmt::format("{}\n{}\n{} a stream\n{}", of.variant->name, lengths_text(point),
                                                    human_bytes(point.memory_bytes), report::share_text(mean))});
      if (std::ranges::count(plot.x_ticks, bytes) == 0) plot.x_ticks.push_back(bytes);
    }
    std::ranges::stable_sort(series.points, {}, &report::Point::x);
    plot.series.push_back(std::move(series));
  }
  std::ranges::sort(plot.x_ticks);
  page.figure(
      {.charts = {plot},
       .caption = fmt::format("Right answers against the bytes that a stream keeps from segment to segment, "
                              "stored as in training, {}with {}.{}",
                              has_lines ? "at all measured lengths, " : "", interval_text(result),
                              has_none ? " What keeps nothing is at 0; the rest of the axis is logarithmic." : ""),
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
    plot.reference = 0;
    const bool is_length = key.trait.empty();
    plot.name = is_length ? "accuracy-by-length" : fmt::format("accuracy-by-trait-{}", k + 1);
    if (is_length) report::mark_longest_trained(plot, first.longest_trained);
    page.figure(
        {.charts = {plot},
         .caption = fmt::format("Right answers by {}{}, those of all others together, with {}{}.",
                                is_length ? "the length of the examples" : key.trait + " of the examples",
                                lengths_of(drawn), interval_text(result),
                                is_length && first.longest_trained ? "; the mark: the longest in training" : ""),
         .table = {}});
  }
  Plot by_distance = report::plot_of_shares("distance", "tokens back to what decides the answer",
                                            lines_of(drawn, report::shares_by_distance));
  by_distance.reference = 0;
  if (report::has_points(by_distance))
    page.figure({.charts = {by_distance},
                 .caption = fmt::format(
                     "Right answers by the distance to the token that determines them{}, in bins that double "
                     "in width, with {}.",
                     lengths_of(drawn), interval_text(result)),
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
  add_state(page, result, drawn);
  add_plots(page, result, drawn, **first);
  add_grids(page, drawn, **first);
}

}  // namespace segue
