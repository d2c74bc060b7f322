// Draws which keys the tokens of a segment can attend to. There is a row for every token, or for as many neighbours,
// with the memory left of the line.
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
  // A run of keys, counted from the segment's first token; those of memory are negative.
  struct Keys {
    int64_t first = 0;
    int64_t last = 0;
    bool operator==(const Keys&) const = default;
  };
  int64_t segment = 0;                       // tokens, those of a global stream first
  int64_t global_tokens = 0;                 // of them
  std::vector<std::vector<Keys>> rows = {};  // of runs, in increasing order; all are of as many tokens, up to rounding
  int64_t colour = 0;
};

constexpr int64_t kMostTokenRows = 48;  // that a drawing should have

std::string draw(const VisiblePairs& pairs, const Canvas& canvas);

// One drawing below the other.
std::string draw(const std::vector<VisiblePairs>& all, const Canvas& canvas, const std::string& title);

}  // namespace segue::report
