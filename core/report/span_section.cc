// How far back heads have learned to look: each layer's mean while it trains, and every head at the end.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "core/drawing/curves.h"
#include "core/drawing/numbers.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

constexpr int64_t kMostSpanPoints = 700;  // of a line: about one to a pixel

// The last line that has them; null without one.
const TrainingPoint* last_spans(const RunData& run) {
  const auto& training = run.metrics.training;
  const auto last =
      std::find_if(training.rbegin(), training.rend(), [](const auto& point) { return !point.spans.empty(); });
  return last == training.rend() ? nullptr : &*last;
}

double mean_of(const std::vector<double>& heads) {
  return std::accumulate(heads.begin(), heads.end(), 0.0) / static_cast<double>(heads.size());
}

Plot means_of(const RunData& run, const TrainingPoint& last, size_t number) {
  Plot plot{.name = fmt::format("spans-{}", number),
            .title = fmt::format("Mean span of each layer of {}", run.name),
            .x_label = "tokens trained on",
            .y_label = "mean span, tokens",
            .y_low = 0.0,
            .series = {}};
  for (size_t layer = 0; layer < last.spans.size(); ++layer) {
    Series series{.name = fmt::format("layer {}", layer), .colour = static_cast<int64_t>(layer), .points = {}};
    for (const TrainingPoint& point : run.metrics.training) {
      if (layer >= point.spans.size() || point.spans[layer].empty()) continue;
      series.points.push_back({.x = static_cast<double>(point.tokens), .y = mean_of(point.spans[layer])});
    }
    series.points = thinned(series.points, kMostSpanPoints, plot.x_scale);
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot heads_of(const RunData& run, const TrainingPoint& last, size_t number) {
  Plot plot{.name = fmt::format("spans-of-heads-{}", number),
            .title = fmt::format("Span of every head of {} after {} tokens", run.name, human_count(last.tokens)),
            .x_label = "layer",
            .y_label = "span, tokens",
            .y_low = 0.0,
            .series = {}};
  Series heads{.name = "", .style = LineStyle::kPoints, .has_markers = true, .points = {}};
  for (size_t layer = 0; layer < last.spans.size(); ++layer) {
    plot.x_ticks.push_back(static_cast<double>(layer));
    for (size_t head = 0; head < last.spans[layer].size(); ++head) {
      const double span = last.spans[layer][head];
      heads.points.push_back({.x = static_cast<double>(layer),
                              .y = span,
                              .title = fmt::format("layer {}, head {}\n{} tokens", layer, head, fixed(span, 1))});
    }
  }
  plot.series.push_back(std::move(heads));
  return plot;
}

Table table_of(const TrainingPoint& last) {
  Table table{.head = {"layer", "mean", "heads"}, .rows = {}};
  for (size_t layer = 0; layer < last.spans.size(); ++layer) {
    const std::vector<double>& heads = last.spans[layer];
    if (heads.empty()) continue;
    std::string list;
    for (const double span : heads) list += (list.empty() ? "" : ", ") + fixed(span, 1);
    table.rows.push_back({std::to_string(layer), fixed(mean_of(heads), 1), list});
  }
  return table;
}

}  // namespace

void add_spans(Page& page, const ReportData& data) {
  size_t number = 0;  // of runs that have some
  for (const RunData& run : data.runs) {
    const TrainingPoint* const last = last_spans(run);
    if (last == nullptr) continue;
    if (++number == 1) page.section("spans", "Attention spans");
    page.figure(
        {.charts = {means_of(run, *last, number), heads_of(run, *last, number)},
         .caption = fmt::format("How far back the heads of {} look: the mean of each layer while it was trained, "
                                "and every head after {} tokens.",
                                run.name, human_count(last->tokens)),
         .table = table_of(*last)});
  }
}

}  // namespace segue::report
