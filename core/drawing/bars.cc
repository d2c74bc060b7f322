#include "core/drawing/bars.h"

#include <algorithm>
#include <cmath>

#include "core/drawing/markup.h"
#include "core/drawing/plot_layout.h"
#include "core/drawing/svg.h"

namespace segue::report {

namespace {

constexpr double kBarHeight = 18.0;
constexpr double kBarGap = 4.0;
constexpr double kGroupGap = 18.0;
constexpr double kBarNameGap = 10.0;

double group_height(const BarGroup& group, double font) {
  return font + 8.0 + static_cast<double>(group.bars.size()) * (kBarHeight + kBarGap) + kGroupGap;
}

double chart_height(const BarChart& chart, double font) {
  double height = 2.0 * font;
  for (const BarGroup& group : chart.groups) height += group_height(group, font);
  return height;
}

double name_width(const BarChart& chart, const Sizes& sizes) {
  double width = 0.0;
  for (const BarGroup& group : chart.groups) {
    for (const Bar& bar : group.bars)
      width = std::max(width, text_width(shortened(bar.name, sizes.longest_name), sizes.font));
  }
  return std::min(width, 0.4 * sizes.width);
}

// Right of the longest bar.
double text_room(const BarChart& chart, double font) {
  double width = 0.0;
  for (const BarGroup& group : chart.groups) {
    for (const Bar& bar : group.bars) width = std::max(width, text_width(bar.text, font));
  }
  return width + 8.0;
}

double largest_value(const BarChart& chart) {
  std::vector<double> values{0.0};
  for (const BarGroup& group : chart.groups) {
    for (const Bar& bar : group.bars) values.push_back(bar.value);
  }
  return range_of(values, ScaleKind::kLinear).high;
}

void draw_bar(Svg& svg, const Bar& bar, const Scale& scale, const Sizes& sizes, double y) {
  const double baseline = y + kBarHeight / 2.0 + 0.34 * sizes.font;
  const auto most = static_cast<int64_t>((scale.pixels().low - kBarNameGap) / (0.58 * sizes.font));
  svg.text({scale.pixels().low - kBarNameGap, baseline}, shortened(bar.name, std::max<int64_t>(most, 6)),
           {.size = sizes.font, .anchor = Anchor::kEnd, .tone = Tone::kText});
  if (!std::isfinite(bar.value)) {
    svg.text({scale.pixels().low + 4.0, baseline}, "not known", {.size = sizes.font, .tone = Tone::kQuiet});
    return;
  }
  const double end = std::max(scale(bar.value), scale.pixels().low + 1.0);
  svg.rectangle({scale.pixels().low, y}, end - scale.pixels().low, kBarHeight, series_colour(bar.colour, svg.ink()),
                bar.name + ": " + bar.text);
  svg.text({end + 6.0, baseline}, bar.text, {.size = sizes.font, .tone = Tone::kText});
}

}  // namespace

std::string draw(const BarChart& chart, const Canvas& canvas) {
  const Sizes sizes = sizes_of(canvas.width);
  const double height = chart_height(chart, sizes.font);
  const double left = name_width(chart, sizes) + kBarNameGap;
  const double room_of_value = text_room(chart, sizes.font);
  const Scale scale(ScaleKind::kLinear, {0.0, largest_value(chart)}, {left, sizes.width - room_of_value});
  Svg svg(sizes.width, height, canvas.ink, chart.title);
  double y = 0.0;
  for (const BarGroup& group : chart.groups) {
    svg.text({left + 6.0, y + sizes.font}, group.name, {.size = sizes.font, .tone = Tone::kQuiet});
    double top = y + sizes.font + 8.0;
    for (const Bar& bar : group.bars) {
      draw_bar(svg, bar, scale, sizes, top);
      top += kBarHeight + kBarGap;
    }
    y += group_height(group, sizes.font);
  }
  svg.line({left, 0.0}, {left, y - kGroupGap}, colour(Tone::kQuiet, canvas.ink), 1.0);
  svg.text({left + 6.0, height - 8.0}, chart.x_label, {.size = sizes.font, .tone = Tone::kQuiet});
  return svg.finish();
}

}  // namespace segue::report
