// Draws values with their confidence intervals beside a reference line, to show which differ from it.
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
  std::vector<double> each = {};      // what the value is the mean of: rings
  std::string text = {};              // right of it
};

struct IntervalChart {
  std::string name = {};   // of the file, without ".svg"
  std::string title = {};  // for people who hear the page
  std::string x_label = {};
  double origin = 0.0;               // what all are compared with: the axis has it, and a line marks it
  std::optional<Range> bounds = {};  // beyond which there are no values; intervals are cut off there
  std::vector<Interval> intervals = {};
};

std::string draw(const IntervalChart& chart, const Canvas& canvas);

}  // namespace segue::report
