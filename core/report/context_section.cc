// Relative effective context length.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "core/drawing/numbers.h"
#include "core/report/commands.h"
#include "core/report/sections.h"

namespace segue::report {

namespace {

std::string ratio_text(double ratio) { return fmt::format("{:g}", ratio); }

std::string group_name(double ratio) {
  return ratio >= 1.0 ? "all tokens" : fmt::format("the hardest {:g} % of tokens", 100.0 * ratio);
}

// "192", or "192 and more" when no context was long enough to know.
std::string length_of(const EffectiveContextModel& model, const EffectiveContext& context, size_t ratio) {
  if (!model.lengths[ratio]) return "\xE2\x80\x93";
  const auto is_open = [&](const ContextCurve& curve) {
    return curve.ratio == context.ratios[ratio] && !curve.ends_within;
  };
  return length_text(*model.lengths[ratio]) +
         (std::any_of(model.curves.begin(), model.curves.end(), is_open) ? " and more" : "");
}

BarChart bars_of(const EffectiveContext& context) {
  BarChart chart{.name = "effective-context",
                 .title = "Relative effective context length of the models",
                 .x_label = "tokens of effective context",
                 .groups = {}};
  for (size_t i = 0; i < context.ratios.size(); ++i) {
    BarGroup group{.name = group_name(context.ratios[i]), .bars = {}};
    for (size_t model = 0; model < context.models.size(); ++model)
      group.bars.push_back({context.models[model].name, static_cast<int64_t>(model),
                            context.models[model].lengths[i].value_or(std::nan("")),
                            length_of(context.models[model], context, i)});
    chart.groups.push_back(std::move(group));
  }
  return chart;
}

// Gains of longer contexts at one ratio: the effective context ends where they fall below the threshold.
Plot gains_of(const EffectiveContext& context, double ratio) {
  Plot plot{.name = "effective-context-gain",
            .title = "Relative gain of a longer context",
            .x_label = "tokens of context",
            .y_label = "relative gain of the next longer context",
            .series = {}};
  for (size_t model = 0; model < context.models.size(); ++model) {
    for (const ContextCurve& curve : context.models[model].curves) {
      if (curve.ratio != ratio) continue;
      Series series{
          .name = context.models[model].name, .colour = static_cast<int64_t>(model), .has_markers = true, .points = {}};
      for (const ContextPoint& point : curve.points)
        series.points.push_back({.x = point.context,
                                 .y = point.gain,
                                 .title = fmt::format("{}\n{} tokens\ngain {} %", series.name, fixed(point.context, 0),
                                                      significant(100.0 * point.gain, 3))});
      plot.series.push_back(std::move(series));
    }
  }
  plot.levels.push_back({context.threshold, fmt::format("threshold {:g}", context.threshold)});
  return plot;
}

Table table_of(const EffectiveContext& context) {
  Table table{.head = {"model"}, .rows = {}};
  for (const double ratio : context.ratios) table.head.push_back("r = " + ratio_text(ratio));
  for (const EffectiveContextModel& model : context.models) {
    table.rows.push_back({model.name});
    for (size_t i = 0; i < context.ratios.size(); ++i) table.rows.back().push_back(length_of(model, context, i));
  }
  return table;
}

// The longest and the shortest at the first ratio.
std::string caption_of(const EffectiveContext& context) {
  std::string text = fmt::format(
      "The context beyond which a longer one lowers the loss by less than {:g} % relative to the best model of the "
      "group.",
      100.0 * context.threshold);
  const EffectiveContextModel* longest = nullptr;
  bool is_shared = false;
  for (const EffectiveContextModel& model : context.models) {
    if (!model.lengths.front()) continue;
    is_shared = longest != nullptr && *model.lengths.front() == *longest->lengths.front();
    if (longest == nullptr || *model.lengths.front() > *longest->lengths.front()) longest = &model;
  }
  if (longest == nullptr || is_shared) return text;
  return fmt::format("{} {} reaches furthest on {}: {} tokens.", text, longest->name,
                     group_name(context.ratios.front()), length_text(*longest->lengths.front()));
}

}  // namespace

void add_effective_context(Page& page, const ReportData& data) {
  page.section("effective-context", "Effective context");
  if (!data.effective_context) {
    return page.missing(
        "--effective-context FILE shows how much context each model of a group uses. FILE is made from the losses "
        "that segue eval --per-token writes, by",
        effective_context_command(data.runs));
  }
  const EffectiveContext& context = *data.effective_context;
  if (context.models.empty() || context.ratios.empty())
    return page.missing(data.effective_context_file + " has no models; make them with",
                        effective_context_command(data.runs));
  page.figure({.charts = {bars_of(context)}, .caption = caption_of(context), .table = table_of(context)});
  const Plot gains = gains_of(context, context.ratios.front());
  if (!has_points(gains)) return;
  page.figure(
      {.charts = {gains},
       .caption = fmt::format("What the next longer context gains, on {}; a model's effective context ends where "
                              "its gain falls below the threshold.",
                              group_name(context.ratios.front())),
       .table = {}});
}

}  // namespace segue::report
