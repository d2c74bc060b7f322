// In every panel, from the back: the others, the reference, its own. Series of one colour share a panel.
#include "core/drawing/panels.h"

#include <algorithm>
#include <cmath>

#include "core/drawing/curves.h"
#include "core/drawing/line_painter.h"
#include "core/drawing/markup.h"
#include "core/drawing/plot_layout.h"
#include "core/drawing/svg.h"

namespace segue::report {

namespace {

constexpr double kOwnWidth = 2.0;
constexpr double kThin = 1.0;
constexpr double kMarker = 2.8;
constexpr double kRing = 2.2;
constexpr double kOthersOpacity = 0.35;
constexpr double kPanelGap = 18.0;
constexpr double kRowGap = 14.0;
constexpr double kNameHeight = 9.0;  // around the letters
constexpr double kPanelTickGap = 6.0;
constexpr double kPanelInset = 5.0;  // as of a plot
constexpr double kKeyGap = 16.0;
constexpr const char* kReferenceDash = "4 3";
constexpr const char* kMarkDash = "2 3";
constexpr int64_t kMostPointsBehind = 50;   // of a line of another panel
constexpr size_t kMostPointsOfAll = 50000;  // in all panels: without limit they would grow with the square of the lines
constexpr int64_t kOwnColour = 0;           // of all: it tells own from other, not one from another

struct PanelSizes {
  double width;
  double plot_height;
  double least_width;
  double font;
};

PanelSizes panel_sizes(Width width) {
  if (width == Width::kWide) return {.width = 820.0, .plot_height = 92.0, .least_width = 136.0, .font = 12.0};
  return {.width = 390.0, .plot_height = 78.0, .least_width = 100.0, .font = 11.0};
}

struct PanelGrid {
  size_t columns = 1;
  size_t rows = 1;
  double left = 0.0;
  double top = 0.0;  // of the first panel's name
  double panel_width = 0.0;
};

// As many columns as names and panels have room for; no row is left with one where they can be even.
PanelGrid panel_grid(const std::vector<NamedLine>& lines, double left, const PanelSizes& sizes) {
  double least = sizes.least_width;
  for (const NamedLine& line : lines) least = std::max(least, text_width(line.name, sizes.font));
  const double room = sizes.width - left;
  const auto fitting = static_cast<size_t>((room + kPanelGap) / (std::min(least, room) + kPanelGap));
  PanelGrid grid{.columns = std::clamp<size_t>(fitting, 1, lines.size()), .left = left};
  grid.rows = (lines.size() + grid.columns - 1) / grid.columns;
  grid.columns = (lines.size() + grid.rows - 1) / grid.rows;
  const auto columns = static_cast<double>(grid.columns);
  grid.panel_width = (room - kPanelGap * (columns - 1.0)) / columns;
  return grid;
}

// The lines of all panels as the others have them; the reference alone where all would be a drawing too large to load.
std::vector<Series> lines_behind(const Plot& plot, size_t panels) {
  std::vector<Series> lines;
  size_t points = 0;
  for (const Series& series : plot.series) {
    if (series.name.empty()) continue;
    Series& line = lines.emplace_back(series);
    line.points = thinned(series.points, kMostPointsBehind, plot.x_scale);
    points += line.points.size();
  }
  if (points * panels > kMostPointsOfAll)
    std::erase_if(lines, [&](const Series& line) { return plot.reference != line.colour; });
  return lines;
}

class PanelDrawing {
 public:
  PanelDrawing(const Plot& plot, const Canvas& canvas)
      : plot_(plot),
        sizes_(panel_sizes(canvas.width)),
        lines_(named_lines(plot)),
        behind_(lines_behind(plot, lines_.size())),
        key_(key_of()),
        y_ticks_(round_ticks(y_scale(plot, {sizes_.plot_height, 0.0}), 3)),
        grid_(panel_grid(lines_, widest_label(y_ticks_, sizes_.font) + kPanelTickGap, sizes_)),
        svg_(sizes_.width, height(), canvas.ink, plot.title) {
    grid_.top = top();
  }

  std::string draw() {
    for (const KeyEntry& entry : key_) key_entry(entry);
    const std::string x_label = fitted(plot_.x_label, sizes_.width - 2.0 * sizes_.font, sizes_.font);
    svg_.text({0.0, grid_.top - 8.0}, fitted(plot_.y_label, sizes_.width, sizes_.font), quiet(Anchor::kStart));
    for (size_t i = 0; i < lines_.size(); ++i) panel(i);
    svg_.text({sizes_.width, height() - 4.0}, x_label + " \xE2\x86\x92", quiet(Anchor::kEnd));
    return svg_.finish();
  }

 private:
  enum class Sign : uint8_t { kOwn, kReference, kOthers, kMark };
  struct KeyEntry {
    Sign sign;
    std::string text;
    Place place = {};
  };

  std::vector<KeyEntry> key_of() const {
    std::vector<KeyEntry> key{{Sign::kOwn, "the panel's own"}};
    for (const NamedLine& line : lines_)
      if (plot_.reference == line.colour) key.push_back({Sign::kReference, line.name});
    const auto is_other = [&](const Series& line) { return plot_.reference != line.colour; };
    if (std::any_of(behind_.begin(), behind_.end(), is_other)) key.push_back({Sign::kOthers, "the others"});
    for (const Mark& mark : plot_.marks) key.push_back({Sign::kMark, mark.label});
    for (const Mark& level : plot_.levels) key.push_back({Sign::kMark, level.label});
    Place place{0.0, sizes_.font};
    for (KeyEntry& entry : key) {
      entry.text = fitted(entry.text, sizes_.width - kSwatchWidth - kSwatchGap, sizes_.font);
      const double width = kSwatchWidth + kSwatchGap + text_width(entry.text, sizes_.font);
      if (place.x > 0.0 && place.x + width > sizes_.width) place = {0.0, place.y + row_of_text()};
      entry.place = place;
      place.x += width + kKeyGap;
    }
    return key;
  }

  double row_of_text() const { return sizes_.font + 7.0; }
  double top() const { return key_.back().place.y + 2.0 * row_of_text(); }
  double row_height() const { return kNameHeight + sizes_.font + sizes_.plot_height + kRowGap; }
  double height() const { return top() + static_cast<double>(grid_.rows) * row_height() + 1.5 * row_of_text(); }

  TextStyle quiet(Anchor anchor) const { return {.size = sizes_.font, .anchor = anchor, .tone = Tone::kQuiet}; }
  std::string tone(Tone tone) const { return colour(tone, svg_.ink()); }
  std::string own() const { return series_colour(kOwnColour, svg_.ink()); }

  Stroke stroke_of(Sign sign) const {
    if (sign == Sign::kOwn) return {.paint = own(), .width = kOwnWidth};
    if (sign == Sign::kReference) return {.paint = tone(Tone::kText), .width = kThin, .dash = kReferenceDash};
    if (sign == Sign::kMark) return {.paint = tone(Tone::kQuiet), .width = kThin, .dash = kMarkDash};
    return {.paint = tone(Tone::kQuiet), .width = kThin, .opacity = kOthersOpacity};
  }

  void key_entry(const KeyEntry& entry) {
    const Stroke stroke = stroke_of(entry.sign);
    const double y = entry.place.y - 0.34 * sizes_.font;
    svg_.path({{entry.place.x, y}, {entry.place.x + kSwatchWidth, y}}, stroke.paint, stroke.width + 0.5, stroke.dash,
              stroke.opacity);
    svg_.text({entry.place.x + kSwatchWidth + kSwatchGap, entry.place.y}, entry.text, {.size = sizes_.font});
  }

  void panel(size_t i) {
    const size_t column = i % grid_.columns;
    const size_t row = i / grid_.columns;
    const double left = grid_.left + static_cast<double>(column) * (grid_.panel_width + kPanelGap);
    const double top = grid_.top + static_cast<double>(row) * row_height() + kNameHeight + sizes_.font;
    const Range across{left, left + grid_.panel_width};
    const Range down{top, top + sizes_.plot_height};
    const Scale x = x_scale(plot_, {across.low + kPanelInset, across.high - kPanelInset});
    const Scale y = y_scale(plot_, {down.high, down.low});
    svg_.text({left, top - 9.0}, fitted(lines_[i].name, grid_.panel_width, sizes_.font), {.size = sizes_.font});
    y_axis(y, across, column == 0);
    x_axis(x, across, down.high, i + grid_.columns >= lines_.size());
    for (const Mark& mark : plot_.marks) stretch({x(mark.x), down.low}, {x(mark.x), down.high});
    for (const Mark& level : plot_.levels) stretch({across.low, y(level.x)}, {across.high, y(level.x)});
    lines(lines_[i].colour, x, y);
  }

  void stretch(Place from, Place to) { svg_.line(from, to, tone(Tone::kQuiet), kThin, kMarkDash); }

  void y_axis(const Scale& y, const Range& across, bool has_labels) {
    for (const Tick& tick : y_ticks_) {
      svg_.line({across.low, y(tick.value)}, {across.high, y(tick.value)}, tone(Tone::kLine), kThin);
      if (has_labels)
        svg_.text({across.low - kPanelTickGap, y(tick.value) + 0.34 * sizes_.font}, tick.label, quiet(Anchor::kEnd));
    }
  }

  // Labels only below the last of a column.
  void x_axis(const Scale& x, const Range& across, double y, bool has_labels) {
    svg_.line({across.low, y}, {across.high, y}, tone(Tone::kQuiet), kThin);
    const double room = 0.5 * kPanelGap - 2.0;
    const Range bounds{across.low - room, std::min(across.high + room, sizes_.width)};
    for (const Tick& tick : labelled_ticks(plot_, x, sizes_.font, bounds)) {
      svg_.line({x(tick.value), y}, {x(tick.value), y + 3.0}, tone(Tone::kQuiet), kThin);
      if (has_labels && !tick.label.empty())
        svg_.text({label_centre(tick, x, sizes_.font, bounds), y + sizes_.font + 6.0}, tick.label,
                  quiet(Anchor::kMiddle));
    }
  }

  void lines(int64_t colour, const Scale& x, const Scale& y) {
    LinePainter painter(svg_, x, y);
    for (const Sign sign : {Sign::kOthers, Sign::kReference}) {
      for (const Series& series : behind_) {
        const bool is_reference = plot_.reference == series.colour;
        if (series.colour == colour || is_reference != (sign == Sign::kReference)) continue;
        painter.line(series, stroke_of(sign));
      }
    }
    std::vector<Series> of_panel;
    for (const Series& series : plot_.series)
      if (series.colour == colour) of_panel.push_back(series);
    for (const Series& series : of_panel) painter.band(series, own());
    for (const Series& series : of_panel) {
      Stroke stroke = stroke_of(Sign::kOwn);
      if (series.style == LineStyle::kBehind) stroke = {.paint = own(), .width = kThin, .opacity = kOthersOpacity};
      if (series.style == LineStyle::kDashed) stroke.dash = kReferenceDash;
      painter.line(series, stroke);
    }
    for (const Series& series : of_panel) painter.rings(series, kRing, own());
    for (const Series& series : of_panel) painter.markers(series, 0, kMarker, own());
    for (const Series& series : of_panel) painter.titles(series, own());
  }

  const Plot& plot_;
  const PanelSizes sizes_;
  const std::vector<NamedLine> lines_;
  const std::vector<Series> behind_;
  const std::vector<KeyEntry> key_;
  const std::vector<Tick> y_ticks_;
  PanelGrid grid_;
  Svg svg_;
};

}  // namespace

std::string draw_panels(const Plot& plot, const Canvas& canvas) { return PanelDrawing(plot, canvas).draw(); }

}  // namespace segue::report
