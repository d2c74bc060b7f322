// What is recorded so far of the segments of a step: what the model and its kind of memory work on together.
#pragma once

#include <cstdint>
#include <vector>

#include "core/head/head.h"
#include "core/kinds/segment_tape.h"

namespace segue {

struct StepRecording {
  Tape& tape() const { return segment.tape; }

  SegmentTape& segment;
  Parameters& parameters;
  const ModelUse& use;
  const SegmentShape& shape;
  const Head& head;
  std::vector<LayerMemory> memories = {};           // per layer: what is bound; what it carries as it became
  std::vector<std::vector<StreamRows>> fresh = {};  // per layer: what may become its memory, of each segment
};

// One segment of the step: tokens [first, first + count) of every stream.
struct SegmentOfStep {
  int64_t number = 0;
  int64_t first = 0;
  int64_t count = 0;
  bool is_last = false;
  bool opens = true;   // whether its first token is on the tape
  bool closes = true;  // and whether its last one is

  // Its rows in every layer: the global stream, what a memory puts before its tokens, these, and what it puts after.
  int64_t global = 0;
  int64_t before = 0;
  int64_t after = 0;
  int64_t first_own() const { return global + before; }
  int64_t first_after() const { return first_own() + count; }
  int64_t rows() const { return first_after() + after; }
};

}  // namespace segue
