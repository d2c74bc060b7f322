// Groups of rows pooled into one row each.
//
//   mean  y[g, d] = (x[g, 0, d] + ... + x[g, C - 1, d]) / C, added in this order
//   max   y[g, d] = the largest of x[g, 0, d], ..., x[g, C - 1, d]; NaN where one of them is NaN
//
// Without gradients. Groups of one row are copied to the bit. fp32 accumulation. Deterministic, also over thread
// counts. A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

enum class Pooling : uint8_t { kMean, kMax };

struct PoolRows {
  Pooling pooling = Pooling::kMean;
  ConstTensorView x;  // [G, C, D] A in; C at least 1
  TensorView y;       // [G, D] A out; not aliased with x
};
void pool_rows(Queue& queue, const PoolRows& args);

}  // namespace segue::kernels
