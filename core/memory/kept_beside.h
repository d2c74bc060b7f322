// What a kind of memory keeps of some streams beside rows of layers and what layers carry, such as vectors of the whole
// model.
#pragma once

#include <cstdint>

#include "core/kinds/segment_tape.h"
#include "kernels/queue.h"

namespace segue {

class KeptBeside {
 public:
  virtual ~KeptBeside() = default;

  // As of Memory: core/memory/memory.h.
  virtual void fit(SegmentShape& shape) const = 0;
  virtual void bind(SegmentTape& segment) const = 0;
  virtual void update(kernels::Queue& queue, const SegmentTape& segment) = 0;
  virtual void reset() = 0;
  virtual int64_t bytes() const = 0;
};

}  // namespace segue
