// The memory update: keep the newest rows of [memory ; hidden] (Dai et al. 2019, section 3.2), without a gradient.
//
// kept = min(capacity, M + T);  updated[b, :] = the last `kept` rows of [memory[b, :] ; hidden[b, :]]
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct SegmentMemoryUpdate {
  ConstTensorView memory;  // [B, M, D] A in; M may be 0
  ConstTensorView hidden;  // [B, T, D] A in; T may be 0
  TensorView updated;      // [B, min(capacity, M + T), D] A out; may start where memory starts
};
void segment_memory_update(Queue& queue, const SegmentMemoryUpdate& args);

}  // namespace segue::kernels
