// Where the parts of a plot go: margins as wide as the words in them, names that do not run into each other.
#pragma once

#include <string>
#include <vector>

#include "core/drawing/plot.h"
#include "core/drawing/svg.h"

namespace segue::report {

// The sizes of the drawing, in the SVG's own pixels.
struct Sizes {
  double width;
  double height;
  double font;
  int64_t longest_name;  // characters
};
Sizes sizes_of(Width width);

// The name of a series beside the end of its line.
struct EndName {
  size_t series = 0;
  std::string text = {};
  Place end;       // of the line
  double y = 0.0;  // of the name
};

// An entry of the legend above the plot.
struct LegendEntry {
  size_t series = 0;
  std::string text = {};
  Place place;
};

struct PlotLayout {
  Sizes sizes{};
  Range across;  // pixels of the plotting area
  Range down;    // high: the bottom
  Scale x;
  Scale y;
  std::vector<Tick> x_ticks = {};
  std::vector<Tick> y_ticks = {};
  std::vector<EndName> end_names = {};   // either these
  std::vector<LegendEntry> legend = {};  // or these
};

PlotLayout lay_out(const Plot& plot, Width width);

// A line that can be told from others, with what is drawn in its colour.
struct NamedLine {
  std::string name = {};
  int64_t colour = 0;
};
std::vector<NamedLine> named_lines(const Plot& plot);

// The axes of a plot, over these pixels.
Scale x_scale(const Plot& plot, const Range& pixels);
Scale y_scale(const Plot& plot, const Range& pixels);

// The given values of x, or round ones, with labels that do not touch.
std::vector<Tick> labelled_ticks(const Plot& plot, const Scale& x, double font, const Range& bounds);

double widest_label(const std::vector<Tick>& ticks, double font);

inline constexpr double kSwatchWidth = 16.0;  // of the piece of line before a name
inline constexpr double kSwatchGap = 6.0;     // behind it

// Moves the names apart, none further than it must, and keeps them within `bounds`.
void move_apart(std::vector<EndName>& names, double distance, const Range& bounds);

// Where the middle of a label is: at its tick, or as near to it as lies within `bounds`.
double label_centre(const Tick& tick, const Scale& scale, double font, const Range& bounds);

// Takes away labels that would touch one another; the first and the last stay.
void thin_labels(std::vector<Tick>& ticks, const Scale& scale, double font, const Range& bounds);

bool is_drawn(const Point& point, ScaleKind x_scale);

}  // namespace segue::report
