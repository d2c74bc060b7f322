// What the layers of a model remember of streams, as a segment's tape meets it.
#pragma once

#include "core/model/segment_tape.h"
#include "kernels/stream.h"

namespace segue {

class Memory {
 public:
  virtual ~Memory() = default;

  // Says in the shape of a segment what is remembered and how much of it is bound.
  virtual void fit(SegmentShape& shape) const = 0;
  // Whether from now on every segment finds the same rows at the same addresses.
  virtual bool is_settled() const = 0;

  // Before a segment: gives its tape the memory.
  virtual void bind(SegmentTape& segment) = 0;
  // After it: takes in what the segment computed.
  virtual void update(kernels::Stream& stream, const SegmentTape& segment) = 0;
  virtual void reset() = 0;  // back to the start of a stream
};

}  // namespace segue
