// The rectifier (Nair & Hinton 2010) alone, where no product has it built in.
//
// forward   y[e] = x[e] where x[e] > 0, otherwise 0; NaN stays
// backward  dx[e] = dy[e] where y[e] > 0, otherwise 0 (or dx +=)
//
// Deterministic. A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct RectifierForward {
  ConstTensorView x;  // [any] A in
  TensorView y;       // as x, out, saved; may be x itself
};
void rectifier_forward(Queue& queue, const RectifierForward& args);

struct RectifierBackward {
  ConstTensorView dy;       // [any] A in
  ConstTensorView y;        // as dy, in: as saved
  TensorView dx;            // as dy, out; may be dy itself unless accumulating, not y
  bool accumulate = false;  // dx += instead of dx =
};
void rectifier_backward(Queue& queue, const RectifierBackward& args);

}  // namespace segue::kernels
