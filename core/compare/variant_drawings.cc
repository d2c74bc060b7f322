#include "core/compare/variant_drawings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/compare/measure_drawings.h"
#include "core/drawing/curves.h"
#include "core/report/seen_pairs.h"

namespace segue {

namespace {

constexpr size_t kMostDrawnLayers = 3;  // of a variant whose layers differ
constexpr int64_t kMostPoints = 250;    // of a line

// One drawing for all that see the same.
void add_drawing(std::vector<report::VisiblePairs>& drawings, report::VisiblePairs drawing) {
  const auto same = std::ranges::find_if(drawings, [&](const report::VisiblePairs& drawn) {
    return drawn.memory == drawing.memory && drawn.segment == drawing.segment && drawn.rows == drawing.rows;
  });
  if (same != drawings.end()) {
    same->title += ", " + drawing.title;
    return;
  }
  drawing.name = fmt::format("visible-pairs-{}", drawings.size() + 1);
  drawings.push_back(std::move(drawing));
}

std::vector<size_t> layers_with_biases(const DistanceBiases& biases) {
  std::vector<size_t> layers;
  for (size_t layer = 0; layer < biases.size(); ++layer)
    if (!biases[layer].empty()) layers.push_back(layer);
  return layers;
}

// Of one layer, a line for each head.
report::Plot plot_of(const std::string& variant, const std::vector<std::vector<float>>& heads) {
  report::Plot plot{.title = "Biases by distance: " + variant,
                    .x_label = "distance in tokens",
                    .y_label = variant + ": added to scores",
                    .x_scale = report::ScaleKind::kLogFromZero,
                    .series = {}};
  for (size_t head = 0; head < heads.size(); ++head) {
    std::vector<report::Point> points;
    for (size_t d = 0; d < heads[head].size(); ++d)
      points.push_back({.x = static_cast<double>(d), .y = heads[head][d]});
    plot.series.push_back({.name = fmt::format("head {}", head + 1),
                           .colour = static_cast<int64_t>(head),
                           .points = report::thinned(points, kMostPoints, plot.x_scale)});
  }
  return plot;
}

}  // namespace

report::Figure visible_pairs_of(const ComparisonResult& result) {
  std::vector<report::VisiblePairs> drawings;
  for (size_t v = 0; v < result.variants.size(); ++v) {
    const Config& config = result.variants[v].config;
    for (report::VisiblePairs& drawing :
         report::seen_pairs(config.model, config.training.tgt_len, result.variants[v].name)) {
      drawing.colour = colour_of_row(result, static_cast<int64_t>(v));
      add_drawing(drawings, std::move(drawing));
    }
  }
  return {.charts = {drawings.begin(), drawings.end()},
          .caption =
              "Which keys each token of a segment can attend to in one layer, in training: a row for every "
              "token, the first above; memory lies left of the line.",
          .table = {}};
}

report::Figure biases_of(const ComparisonResult& result) {
  report::Figure figure{
      .charts = {},
      .caption =
          "What is added to a score for the distance between query and key, by head; where it is learned, as the "
          "run of the first seed that did not diverge learned it, and of layers that differ no more than three.",
      .table = {}};
  for (const ComparedVariant& variant : result.variants) {
    const std::vector<size_t> biased = layers_with_biases(variant.biases);
    for (const size_t i : report::even_choice(biased.size(), kMostDrawnLayers)) {
      const size_t layer = biased[i];
      const std::string name = variant.name + (variant.biases.size() > 1 ? fmt::format(", layer {}", layer) : "");
      report::Plot plot = plot_of(name, variant.biases[layer]);
      plot.name = fmt::format("biases-{}", figure.charts.size() + 1);
      figure.charts.emplace_back(std::move(plot));
    }
  }
  return figure;
}

}  // namespace segue
