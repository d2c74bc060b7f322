// Values with their intervals beside a common zero: which lie apart from it, and how surely.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/drawing/plot.h"

namespace segue::report {

struct Interval {
  std::string name = {};
  int64_t colour = 0;
  double value = 0.0;
  std::optional<double> spread = {};  // half the width; none: not known
  std::string text = {};              // right of it
};

struct IntervalChart {
  std::string name = {};   // of the file, without ".svg"
  std::string title = {};  // for people who hear the page
  std::string x_label = {};
  std::vector<Interval> intervals = {};
};

std::string draw(const IntervalChart& chart, const Canvas& canvas);

}  // namespace segue::report
