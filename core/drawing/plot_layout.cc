#include "core/drawing/plot_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/drawing/markup.h"

namespace segue::report {

namespace {

constexpr double kInset = 8.0;        // between the ends of the axes and the outermost points
constexpr double kRoomOfY = 0.06;     // above and below the values, as a share of what they span
constexpr size_t kMostEndNames = 14;  // more are read more easily as a legend
constexpr double kNameGap = 10.0;     // between the plotting area and the names beside it
constexpr double kLegendGap = 18.0;   // between entries of the legend
constexpr double kTickGap = 8.0;      // between labels of the y axis and the plotting area
constexpr double kPixelsPerYTick = 46.0;
constexpr double kLettersPerXTick = 6.5;

// How much of the bands the axis makes room for: all of them, but for those that are far wider than most.
double largest_shown_spread(const Plot& plot) {
  constexpr double kFarWider = 4.0;
  std::vector<double> spreads;
  for (const Series& series : plot.series) {
    for (const Point& point : series.points) {
      if (is_drawn(point, plot.x_scale)) spreads.push_back(point.spread);
    }
  }
  if (spreads.empty()) return 0.0;
  const auto middle = spreads.begin() + std::ssize(spreads) / 2;
  std::nth_element(spreads.begin(), middle, spreads.end());
  return kFarWider * *middle;
}

// All values of one axis, those of marks included.
struct Values {
  std::vector<double> x;
  std::vector<double> y;
};

Values values_of(const Plot& plot) {
  Values values;
  const double most = largest_shown_spread(plot);
  for (const Series& series : plot.series) {
    for (const Point& point : series.points) {
      if (!is_drawn(point, plot.x_scale)) continue;
      values.x.push_back(point.x);
      const double spread = std::min(point.spread, most);
      values.y.insert(values.y.end(), {point.y - spread, point.y + spread});
      values.y.insert(values.y.end(), point.each.begin(), point.each.end());
    }
  }
  for (const Mark& mark : plot.marks) values.x.push_back(mark.x);
  for (const Mark& level : plot.levels) values.y.push_back(level.x);
  if (plot.y_low) values.y.push_back(*plot.y_low);
  return values;
}

Range y_domain(const Plot& plot, const std::vector<double>& values) {
  if (plot.y_range) return *plot.y_range;
  Range domain = padded(range_of(values, ScaleKind::kLinear), kRoomOfY);
  if (plot.y_low) domain.low = std::min(range_of(values, ScaleKind::kLinear).low, *plot.y_low);
  return domain;
}

double smallest_positive(const std::vector<double>& values) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const double value : values) {
    if (value > 0.0) smallest = std::min(smallest, value);
  }
  return std::isfinite(smallest) ? smallest : 1.0;
}

std::vector<size_t> named_series(const Plot& plot) {
  std::vector<size_t> named;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const auto& points = plot.series[i].points;
    const bool has_any =
        std::any_of(points.begin(), points.end(), [&](const Point& point) { return is_drawn(point, plot.x_scale); });
    if (!plot.series[i].name.empty() && has_any) named.push_back(i);
  }
  return named;
}

// Row after row; returns the height that they take.
double place_legend(const Plot& plot, const std::vector<size_t>& named, const Sizes& sizes, double top,
                    std::vector<LegendEntry>& legend) {
  const double row = sizes.font + 7.0;
  Place place{0.0, top + sizes.font};
  for (const size_t series : named) {
    const std::string text = shortened(plot.series[series].name, sizes.longest_name);
    const double width = kSwatchWidth + kSwatchGap + text_width(text, sizes.font);
    if (place.x > 0.0 && place.x + width > sizes.width) place = {0.0, place.y + row};
    legend.push_back({series, text, place});
    place.x += width + kLegendGap;
  }
  return place.y - top + row - sizes.font;
}

// Pixels by which labels at their ticks would reach beyond the right edge of the drawing.
double overhang(const std::vector<Tick>& ticks, const Scale& x, const Sizes& sizes) {
  double most = 0.0;
  for (const Tick& tick : ticks)
    most = std::max(most, x(tick.value) + text_width(tick.label, sizes.font) / 2.0 - sizes.width);
  return most;
}

Place end_of(const Series& series, const PlotLayout& layout, ScaleKind x_scale) {
  const auto last = std::find_if(series.points.rbegin(), series.points.rend(),
                                 [&](const Point& point) { return is_drawn(point, x_scale); });
  return {layout.x(last->x), layout.y(last->y)};
}

}  // namespace

Sizes sizes_of(Width width) {
  if (width == Width::kWide) return {.width = 820.0, .height = 390.0, .font = 13.0, .longest_name = 30};
  return {.width = 390.0, .height = 310.0, .font = 12.0, .longest_name = 40};
}

bool is_drawn(const Point& point, ScaleKind x_scale) {
  const bool is_finite = std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.spread);
  if (x_scale == ScaleKind::kLog) return is_finite && point.x > 0.0;
  return is_finite && (x_scale == ScaleKind::kLinear || point.x >= 0.0);
}

void move_apart(std::vector<EndName>& names, double distance, const Range& bounds) {
  std::stable_sort(names.begin(), names.end(), [](const EndName& a, const EndName& b) { return a.end.y < b.end.y; });
  double least = bounds.low;
  for (EndName& name : names) {
    name.y = std::max(name.end.y, least);
    least = name.y + distance;
  }
  double most = bounds.high;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    name->y = std::min(name->y, most);
    most = name->y - distance;
  }
}

std::vector<NamedLine> named_lines(const Plot& plot) {
  std::vector<NamedLine> lines;
  for (const size_t i : named_series(plot)) {
    const Series& series = plot.series[i];
    const auto same = [&](const NamedLine& line) { return line.colour == series.colour; };
    if (std::none_of(lines.begin(), lines.end(), same)) lines.push_back({series.name, series.colour});
  }
  return lines;
}

Scale x_scale(const Plot& plot, const Range& pixels) {
  const Values values = values_of(plot);
  return {plot.x_scale, range_of(values.x, plot.x_scale), pixels, smallest_positive(values.x)};
}

Scale y_scale(const Plot& plot, const Range& pixels) {
  return {ScaleKind::kLinear, y_domain(plot, values_of(plot).y), pixels};
}

std::vector<Tick> labelled_ticks(const Plot& plot, const Scale& x, double font, const Range& bounds) {
  constexpr int64_t kFewest = 3;
  const auto wanted = std::max(kFewest, static_cast<int64_t>(x.pixels().size() / (kLettersPerXTick * font)));
  std::vector<Tick> ticks = plot.x_ticks.empty() ? round_ticks(x, wanted) : given_ticks(x, plot.x_ticks);
  thin_labels(ticks, x, font, bounds);
  return ticks;
}

double widest_label(const std::vector<Tick>& ticks, double font) {
  double width = 0.0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.label, font));
  return width;
}

double label_centre(const Tick& tick, const Scale& scale, double font, const Range& bounds) {
  const double half = text_width(tick.label, font) / 2.0;
  return std::max(std::min(scale(tick.value), bounds.high - half), bounds.low + half);
}

void thin_labels(std::vector<Tick>& ticks, const Scale& scale, double font, const Range& bounds) {
  constexpr double kGap = 8.0;
  const auto half = [&](const Tick& tick) { return text_width(tick.label, font) / 2.0; };
  const auto centre = [&](const Tick& tick) { return label_centre(tick, scale, font, bounds); };
  size_t kept = 0;
  for (size_t i = 1; i < ticks.size(); ++i) {
    const auto touches = [&] {
      return centre(ticks[i]) - half(ticks[i]) < centre(ticks[kept]) + half(ticks[kept]) + kGap;
    };
    const bool is_last = i + 1 == ticks.size();
    while (is_last && kept > 0 && touches()) {
      ticks[kept].label.clear();
      while (kept > 0 && ticks[kept].label.empty()) --kept;
    }
    if (touches()) {
      ticks[i].label.clear();
    } else {
      kept = i;
    }
  }
}

PlotLayout lay_out(const Plot& plot, Width width) {
  const Sizes sizes = sizes_of(width);
  const std::vector<size_t> named = named_series(plot);
  const bool has_names = width == Width::kWide && named.size() <= kMostEndNames;
  std::vector<LegendEntry> legend;
  const double legend_height = has_names || named.size() < 2 ? 0.0 : place_legend(plot, named, sizes, 0.0, legend);

  double right = kInset;
  if (has_names) {
    for (const size_t i : named)
      right = std::max(right, kNameGap + kSwatchWidth + kSwatchGap +
                                  text_width(shortened(plot.series[i].name, sizes.longest_name), sizes.font));
  }
  const Range down{legend_height + sizes.font + 16.0, sizes.height - 3.0 * sizes.font - 6.0};
  const Scale y = y_scale(plot, {down.high, down.low});
  std::vector<Tick> y_ticks = round_ticks(y, static_cast<int64_t>(down.size() / kPixelsPerYTick));
  const Range bounds{0.0, sizes.width};
  Range across{widest_label(y_ticks, sizes.font) + kTickGap, sizes.width - right};
  const auto scale = [&] { return x_scale(plot, {across.low + kInset, across.high - kInset}); };
  across.high -= overhang(labelled_ticks(plot, scale(), sizes.font, bounds), scale(), sizes);
  const Scale x = scale();
  std::vector<Tick> x_ticks = labelled_ticks(plot, x, sizes.font, bounds);

  PlotLayout layout{sizes, across, down, x, y, std::move(x_ticks), std::move(y_ticks), {}, std::move(legend)};
  if (!has_names) return layout;
  for (const size_t i : named)
    layout.end_names.push_back(
        {i, shortened(plot.series[i].name, sizes.longest_name), end_of(plot.series[i], layout, plot.x_scale)});
  move_apart(layout.end_names, sizes.font + 4.0, {down.low, down.high});
  return layout;
}

}  // namespace segue::report
