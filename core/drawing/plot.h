// Line plots as SVG: axes with round values, confidence bands, marked values of x, and names beside the lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/drawing/palette.h"
#include "core/drawing/scale.h"

namespace segue::report {

struct Point {
  double x = 0.0;
  double y = 0.0;
  double spread = 0.0;            // half the height of the band around y
  std::string title = {};         // shown when the pointer rests on it; empty: the point is not marked
  std::vector<double> each = {};  // what y is the mean of, in place of a spread: rings, where the band is open
};

enum class LineStyle : uint8_t {
  kSolid,
  kDashed,
  kBehind,  // thin and light, without a name
  kPoints,  // marks only
};

// Values that are not finite are left out and break the line.
struct Series {
  std::string name = {};  // empty: not named beside the line and in the legend
  int64_t colour = 0;
  LineStyle style = LineStyle::kSolid;
  bool has_markers = false;
  std::vector<Point> points = {};
};

// A vertical line at a value of x that means something.
struct Mark {
  double x = 0.0;
  std::string label = {};
};

struct Plot {
  std::string name = {};   // of the file, without ".svg"
  std::string title = {};  // for people who hear the page
  std::string x_label = {};
  std::string y_label = {};
  ScaleKind x_scale = ScaleKind::kLinear;
  std::vector<double> x_ticks = {};   // empty: round ones
  std::optional<double> y_low = {};   // the axis reaches at least down to here
  std::optional<Range> y_range = {};  // the axis itself, beyond which bands are cut off; none: that of the values
  std::vector<Series> series = {};
  std::vector<Mark> marks = {};
  std::vector<Mark> levels = {};  // the same across: x is a value of y
  // The colour of the line that the others are compared with: where lines have panels, it is in all of them.
  std::optional<int64_t> reference = {};
};

// The purpose of a drawing: kWide fills the page, kNarrow a phone or half of the page.
enum class Width : uint8_t { kWide, kNarrow };
struct Canvas {
  Width width = Width::kWide;
  Ink ink = Ink::kPage;
};

// True when there is a point to draw.
bool has_points(const Plot& plot);

// True when its lines are more than colours can tell apart, so that each has a panel of its own.
bool is_in_panels(const Plot& plot);

// One <svg> element; on paper a whole file's content.
std::string draw(const Plot& plot, const Canvas& canvas);

}  // namespace segue::report
