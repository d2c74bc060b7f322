// What layers attend to: the shares of their attention that rows of memory get, by age. The drawing shows the share of
// one row, since groups of more rows get more.
#include <fmt/format.h>

#include <numeric>

#include "base/text.h"
#include "core/drawing/numbers.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

std::string age_text(const AttentionOfAge& age) {
  return age.from == age.to ? human_count(age.from) : human_count(age.from) + "\xE2\x80\x93" + human_count(age.to);
}

double memory_share(const std::vector<AttentionOfAge>& ages) {
  return std::accumulate(ages.begin(), ages.end(), 0.0,
                         [](double sum, const AttentionOfAge& age) { return sum + age.share; });
}

// A line for every layer, a point for every group of ages.
Plot plot_of(const RunData& run, const EvaluatedLength& result, size_t number) {
  Plot plot{.name = fmt::format("attention-by-age-{}", number),
            .title = fmt::format("Attention of {} to its memory by age", run.name),
            .x_label = "rows back from the segment",
            .y_label = "attention that a row gets, % of the layer's",
            .x_scale = ScaleKind::kLogFromZero,
            .y_low = 0.0,
            .series = {}};
  for (size_t layer = 0; layer < result.attention.size(); ++layer) {
    Series series{.name = fmt::format("layer {}", layer),
                  .colour = static_cast<int64_t>(layer),
                  .has_markers = true,
                  .points = {}};
    for (const AttentionOfAge& age : result.attention[layer]) {
      const double of_row = 100.0 * age.share / static_cast<double>(age.to - age.from + 1);
      series.points.push_back({.x = 0.5 * static_cast<double>(age.from + age.to),
                               .y = of_row,
                               .title = fmt::format("layer {}, {} back\n{} % a row, {} % in all", layer, age_text(age),
                                                    fixed(of_row, 3), fixed(100.0 * age.share, 2))});
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

Table table_of(const EvaluatedLength& result) {
  Table table{.head = {"layer", "segment, %", "memory, %"}, .rows = {}};
  for (const AttentionOfAge& age : result.attention.front()) table.head.push_back(age_text(age));
  for (size_t layer = 0; layer < result.attention.size(); ++layer) {
    const double memory = memory_share(result.attention[layer]);
    std::vector<std::string> row{std::to_string(layer), fixed(100.0 * (1.0 - memory), 2), fixed(100.0 * memory, 2)};
    for (const AttentionOfAge& age : result.attention[layer]) row.push_back(fixed(100.0 * age.share, 2));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

void add_attention(Page& page, const ReportData& data) {
  size_t number = 0;  // of results that tell it
  for (const RunData& run : data.runs) {
    for (const Evaluation& evaluation : run.evaluations) {
      for (const EvaluatedLength& result : evaluation.results) {
        if (result.attention.empty()) continue;
        if (++number == 1) page.section("attention", "What layers attend to");
        page.figure(
            {.charts = {plot_of(run, result, number)},
             .caption = fmt::format(
                 "The share of its attention that each layer of {} gives to a row of its memory, averaged over groups "
                 "of ages that double. The newest row has age 1. The table has the shares of whole groups. The rest "
                 "goes to the segment itself, memory tokens included. Memory {}, segment {} ({}).",
                 run.name, human_count(result.mem_len), human_count(result.tgt_len), evaluation.name),
             .table = table_of(result)});
      }
    }
  }
}

}  // namespace segue::report
