// Which keys each token of a segment can attend to: a row for every token, memory left of the line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/drawing/plot.h"

namespace segue::report {

struct VisiblePairs {
  std::string name = {};   // of the file, without ".svg"
  std::string title = {};  // above the drawing
  int64_t memory = 0;      // keys before the segment
  // Of every token of the segment, the first and the last key, counted from the segment's first token; those of memory
  // are negative.
  struct Keys {
    int64_t first = 0;
    int64_t last = 0;
    bool operator==(const Keys&) const = default;
  };
  std::vector<Keys> tokens = {};
  int64_t colour = 0;
};

std::string draw(const VisiblePairs& pairs, const Canvas& canvas);

}  // namespace segue::report
