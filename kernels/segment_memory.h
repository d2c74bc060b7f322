// The memory update: keep the newest rows of [memory ; hidden] (Dai et al. 2019, section 3.2), without a gradient.
//
// kept = min(capacity, M + T);  updated[b, :] = the last `kept` rows of [memory[b, :] ; hidden[b, :]]
#pragma once

#include "base/tensor.h"
#include "kernels/stream.h"

namespace segue::kernels {

struct SegmentMemoryUpdate {
  ConstTensorView memory;  // [B, M, D] float32 in; M may be 0
  ConstTensorView hidden;  // [B, T, D] float32 in
  TensorView updated;      // [B, min(capacity, M + T), D] float32 out; may start where memory starts
};
void segment_memory_update(Stream& stream, const SegmentMemoryUpdate& args);

}  // namespace segue::kernels
