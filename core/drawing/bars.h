// Horizontal bars in groups, as SVG: one group for each question, one bar for each answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/drawing/plot.h"

namespace segue::report {

struct Bar {
  std::string name = {};
  int64_t colour = 0;
  double value = 0.0;     // not negative; what is not finite has no bar
  std::string text = {};  // at its end
};

struct BarGroup {
  std::string name = {};
  std::vector<Bar> bars = {};
};

struct BarChart {
  std::string name = {};  // of the file, without ".svg"
  std::string title = {};
  std::string x_label = {};
  std::vector<BarGroup> groups = {};
};

std::string draw(const BarChart& chart, const Canvas& canvas);

}  // namespace segue::report
