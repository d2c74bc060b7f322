// Numbers in another precision: layers compute with activations of float32 or bfloat16, and carry states from segment
// to segment in float32.
//
//   y = factor x, or y += factor x, rounded to the nearest that y can hold
//
// NaN stays NaN. Deterministic.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct Conversion {
  ConstTensorView x;  // any shape; float32 or bfloat16, in
  TensorView y;       // of that shape; float32 or bfloat16, out, or inout with accumulate; not aliased
  bool accumulate = false;
  float factor = 1.0F;
};
void convert(Queue& queue, const Conversion& args);

}  // namespace segue::kernels
