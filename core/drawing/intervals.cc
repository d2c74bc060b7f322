// A row for every interval: its name, a line as wide as it is with its value marked, and its text.
#include "core/drawing/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/drawing/markup.h"
#include "core/drawing/plot_layout.h"
#include "core/drawing/svg.h"

namespace segue::report {

namespace {

constexpr double kIntervalHeight = 26.0;
constexpr double kIntervalGap = 12.0;
constexpr double kCap = 5.0;  // half the height of an interval's ends
constexpr double kIntervalLine = 2.0;
constexpr double kIntervalMarker = 4.5;
constexpr double kIntervalRing = 3.0;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr int64_t kIntervalTicks = 5;

double widest(const IntervalChart& chart, const Sizes& sizes, std::string Interval::*text, int64_t longest) {
  double width = 0.0;
  for (const Interval& interval : chart.intervals)
    width = std::max(width, text_width(shortened(interval.*text, longest), sizes.font));
  return width;
}

Range domain_of(const IntervalChart& chart) {
  constexpr double kRoom = 0.06;
  std::vector<double> values{chart.origin};
  for (const Interval& interval : chart.intervals) {
    const double spread = interval.spread.value_or(0.0);
    values.push_back(interval.value - spread);
    values.push_back(interval.value + spread);
    values.insert(values.end(), interval.each.begin(), interval.each.end());
  }
  if (chart.bounds) {
    for (double& value : values) value = std::clamp(value, chart.bounds->low, chart.bounds->high);
  }
  return padded(range_of(values, ScaleKind::kLinear), kRoom);
}

void draw_interval(Svg& svg, const Interval& interval, const std::optional<Range>& bounds, const Scale& scale,
                   double y) {
  if (!std::isfinite(interval.value)) return;
  const std::string ink = series_colour(interval.colour, svg.ink());
  if (interval.spread) {
    const Range within = bounds.value_or(Range{-kUnbounded, kUnbounded});
    const double low = interval.value - *interval.spread;
    const double high = interval.value + *interval.spread;
    svg.line({scale(std::max(low, within.low)), y}, {scale(std::min(high, within.high)), y}, ink, kIntervalLine);
    for (const double end : {low, high})
      if (within.holds(end)) svg.line({scale(end), y - kCap}, {scale(end), y + kCap}, ink, kIntervalLine);
  }
  for (const double value : interval.each) svg.ring({scale(value), y}, kIntervalRing, ink);
  svg.marker({scale(interval.value), y}, 0, kIntervalMarker, ink);
  svg.hover({scale(interval.value), y}, ink, interval.name + ": " + interval.text);
}

}  // namespace

std::string draw(const IntervalChart& chart, const Canvas& canvas) {
  const Sizes sizes = sizes_of(canvas.width);
  const double left = widest(chart, sizes, &Interval::name, sizes.longest_name) + kIntervalGap;
  const double right = sizes.width - widest(chart, sizes, &Interval::text, sizes.longest_name * 2) - kIntervalGap;
  const double bottom = kIntervalHeight * static_cast<double>(chart.intervals.size());
  const std::vector<std::string> label = wrapped(chart.x_label, sizes.width, sizes.font);
  const double line = 1.35 * sizes.font;
  const double height = bottom + 2.25 * sizes.font + line * static_cast<double>(label.size());
  Svg svg(sizes.width, height, canvas.ink, chart.title);
  const Scale scale(ScaleKind::kLinear, domain_of(chart), {left, right});
  std::vector<Tick> ticks = round_ticks(scale, kIntervalTicks);
  thin_labels(ticks, scale, sizes.font, {0.0, sizes.width});
  for (const Tick& tick : ticks) {
    svg.line({scale(tick.value), 0.0}, {scale(tick.value), bottom}, colour(Tone::kLine, canvas.ink), 1.0);
    svg.text({scale(tick.value), bottom + 1.3 * sizes.font}, tick.label,
             {.size = sizes.font, .anchor = Anchor::kMiddle, .tone = Tone::kQuiet});
  }
  svg.line({scale(chart.origin), 0.0}, {scale(chart.origin), bottom}, colour(Tone::kText, canvas.ink), 1.0);
  double y = kIntervalHeight / 2.0;
  for (const Interval& interval : chart.intervals) {
    const double baseline = y + 0.34 * sizes.font;
    svg.text({left - kIntervalGap, baseline}, shortened(interval.name, sizes.longest_name),
             {.size = sizes.font, .anchor = Anchor::kEnd});
    draw_interval(svg, interval, chart.bounds, scale, y);
    svg.text({right + kIntervalGap, baseline}, shortened(interval.text, sizes.longest_name * 2), {.size = sizes.font});
    y += kIntervalHeight;
  }
  for (size_t i = 0; i < label.size(); ++i) {
    const double half = text_width(label[i], sizes.font) / 2.0;
    const double middle = std::max(std::min((left + right) / 2.0, sizes.width - half), half);
    svg.text({middle, bottom + 2.9 * sizes.font + line * static_cast<double>(i)}, label[i],
             {.size = sizes.font, .anchor = Anchor::kMiddle, .tone = Tone::kQuiet});
  }
  return svg.finish();
}

}  // namespace segue::report
