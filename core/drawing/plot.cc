// Drawing, from the back to the front.
#include "core/drawing/plot.h"

#include <algorithm>
#include <cmath>

#include "core/drawing/line_painter.h"
#include "core/drawing/markup.h"
#include "core/drawing/panels.h"
#include "core/drawing/plot_layout.h"
#include "core/drawing/svg.h"

namespace segue::report {

namespace {

constexpr double kLineWidth = 2.0;
constexpr double kMarkerSize = 3.6;
constexpr double kRingSize = 2.8;
constexpr double kBehindOpacity = 0.3;

class Drawing {
 public:
  Drawing(const Plot& plot, const Canvas& canvas)
      : plot_(plot),
        layout_(lay_out(plot, canvas.width)),
        svg_(layout_.sizes.width, layout_.sizes.height, canvas.ink, plot.title) {}

  std::string draw() {
    axes();
    marks();
    LinePainter painter(svg_, layout_.x, layout_.y);
    for (const Series& series : plot_.series) painter.band(series, colour_of(series));
    for (const Series& series : plot_.series) painter.line(series, stroke_of(series));
    for (const Series& series : plot_.series) painter.rings(series, kRingSize, colour_of(series));
    for (const Series& series : plot_.series) painter.markers(series, series.colour, kMarkerSize, colour_of(series));
    mark_labels();
    names();
    for (const Series& series : plot_.series) painter.titles(series, colour_of(series));
    return svg_.finish();
  }

 private:
  std::string tone(Tone tone) const { return colour(tone, svg_.ink()); }
  std::string colour_of(const Series& series) const { return series_colour(series.colour, svg_.ink()); }
  TextStyle label_style(Anchor anchor) const {
    return {.size = layout_.sizes.font, .anchor = anchor, .tone = Tone::kQuiet};
  }

  void axes() {
    const Range& across = layout_.across;
    const Range& down = layout_.down;
    const double font = layout_.sizes.font;
    for (const Tick& tick : layout_.y_ticks) {
      const double y = layout_.y(tick.value);
      svg_.line({across.low, y}, {across.high, y}, tone(Tone::kLine), 1.0);
      svg_.text({across.low - 8.0, y + 0.34 * font}, tick.label, label_style(Anchor::kEnd));
    }
    svg_.line({across.low, down.high}, {across.high, down.high}, tone(Tone::kQuiet), 1.0);
    for (const Tick& tick : layout_.x_ticks) {
      const double x = layout_.x(tick.value);
      svg_.line({x, down.high}, {x, down.high + (tick.label.empty() ? 3.0 : 5.0)}, tone(Tone::kQuiet), 1.0);
      if (tick.label.empty()) continue;
      const double centre = label_centre(tick, layout_.x, font, {0.0, layout_.sizes.width});
      svg_.text({centre, down.high + font + 8.0}, tick.label, label_style(Anchor::kMiddle));
    }
    const std::string y_label = fitted(plot_.y_label, layout_.sizes.width, font);
    const std::string x_label = fitted(plot_.x_label, across.high - 2.0 * font, font);
    svg_.text({0.0, down.low - 12.0}, y_label, label_style(Anchor::kStart));
    svg_.text({across.high, layout_.sizes.height - 4.0}, x_label + " \xE2\x86\x92", label_style(Anchor::kEnd));
  }

  void marks() {
    for (const Mark& mark : plot_.marks)
      svg_.line({layout_.x(mark.x), layout_.down.low - 4.0}, {layout_.x(mark.x), layout_.down.high}, tone(Tone::kQuiet),
                1.0, "3 3");
    for (const Mark& level : plot_.levels)
      svg_.line({layout_.across.low, layout_.y(level.x)}, {layout_.across.high, layout_.y(level.x)}, tone(Tone::kQuiet),
                1.0, "3 3");
  }

  void mark_labels() {
    double y = layout_.down.low + layout_.sizes.font - 4.0;
    for (const Mark& mark : plot_.marks) {
      const double x = layout_.x(mark.x);
      const bool is_left = x + text_width(mark.label, layout_.sizes.font) + 6.0 < layout_.across.high;
      label_over_lines({is_left ? x + 5.0 : x - 5.0, y}, mark.label, is_left ? Anchor::kStart : Anchor::kEnd);
      y += layout_.sizes.font + 3.0;
    }
    for (const Mark& level : plot_.levels)
      label_over_lines({layout_.across.high - 2.0, layout_.y(level.x) - 5.0}, level.label, Anchor::kEnd);
  }

  void label_over_lines(Place place, const std::string& label, Anchor anchor) {
    TextStyle style = label_style(anchor);
    style.is_over_lines = true;
    svg_.text(place, label, style);
  }

  std::string dash(const Series& series) const {
    return series.style == LineStyle::kDashed ? "6 4" : dash_of(series.colour);
  }

  Stroke stroke_of(const Series& series) const {
    if (series.style == LineStyle::kBehind)
      return {.paint = colour_of(series), .width = 1.0, .opacity = kBehindOpacity};
    return {.paint = colour_of(series), .width = kLineWidth, .dash = dash(series)};
  }

  void swatch(size_t index, Place place) {
    const Series& series = plot_.series[index];
    const double y = place.y - 0.34 * layout_.sizes.font;
    if (series.style != LineStyle::kPoints)
      svg_.line({place.x, y}, {place.x + kSwatchWidth, y}, colour_of(series), kLineWidth + 0.5, dash(series));
    if (series.has_markers)
      svg_.marker({place.x + kSwatchWidth / 2.0, y}, series.colour, kMarkerSize, colour_of(series));
  }

  void name(size_t series, const std::string& text, Place place) {
    swatch(series, place);
    svg_.text({place.x + kSwatchWidth + kSwatchGap, place.y}, text,
              {.size = layout_.sizes.font, .anchor = Anchor::kStart, .tone = Tone::kText});
  }

  void names() {
    for (const LegendEntry& entry : layout_.legend) name(entry.series, entry.text, entry.place);
    const double x = layout_.across.high + 10.0;
    for (const EndName& end : layout_.end_names) {
      const bool is_far = x - end.end.x > 24.0 || std::abs(end.end.y - end.y) > 8.0;
      if (is_far) svg_.line({end.end.x + 5.0, end.end.y}, {x - 2.0, end.y}, tone(Tone::kQuiet), 0.75, "1 2");
      name(end.series, end.text, {x, end.y + 0.34 * layout_.sizes.font});
    }
  }

  const Plot& plot_;
  const PlotLayout layout_;
  Svg svg_;
};

}  // namespace

bool has_points(const Plot& plot) {
  return std::any_of(plot.series.begin(), plot.series.end(), [&](const Series& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [&](const Point& point) { return is_drawn(point, plot.x_scale); });
  });
}

bool is_in_panels(const Plot& plot) { return std::ssize(named_lines(plot)) > kSeriesColours; }

std::string draw(const Plot& plot, const Canvas& canvas) {
  return is_in_panels(plot) ? draw_panels(plot, canvas) : Drawing(plot, canvas).draw();
}

}  // namespace segue::report
