// Numbers kept in a range, such as weights that mean something there alone.
//
// x[e] = lowest where x[e] is below it, highest where it is above; NaN stays. Doing it again changes nothing.
// A: the dtype of activations, float32 or bfloat16. Deterministic.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct Clamp {
  TensorView x;  // [any] A inout
  float lowest = 0.0F;
  float highest = 1.0F;  // at least lowest; both are rounded to A
};
void clamp(Queue& queue, const Clamp& args);

}  // namespace segue::kernels
