// Paints series between the axes of a plot: lines with their bands, marks, and the text that appears under a pointer.
#pragma once

#include <string>

#include "core/drawing/plot.h"
#include "core/drawing/svg.h"

namespace segue::report {

// How a line is drawn.
struct Stroke {
  std::string paint = {};
  double width = 2.0;
  std::string dash = {};
  double opacity = 1.0;
};

class LinePainter {
 public:
  // All of them outlive it; y grows upwards, and bands are cut off where its pixels end.
  LinePainter(Svg& svg, const Scale& x, const Scale& y) : svg_(svg), x_(x), y_(y) {}

  void band(const Series& series, const std::string& paint);
  // A point that nothing joins is a dot, unless it is marked or behind others.
  void line(const Series& series, const Stroke& stroke);
  void markers(const Series& series, int64_t shape, double size, const std::string& paint);
  // What points are the means of, where that is given.
  void rings(const Series& series, double size, const std::string& paint);
  void titles(const Series& series, const std::string& paint);

 private:
  Place place_of(const Point& point) const { return {x_(point.x), y_(point.y)}; }
  double within(double y) const;

  Svg& svg_;
  const Scale& x_;
  const Scale& y_;
};

}  // namespace segue::report
