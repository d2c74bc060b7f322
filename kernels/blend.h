// What each head has of two sources, one share of the one and the rest of the other (Munkhdalai et al. 2024,
// arXiv:2404.07143).
//
// With g = 1 / (1 + e^-logit) of a head, in each of its columns:
//
//   forward   y = b + g (a - b)
//   backward  da = g dy;  db = (1 - g) dy;  dlogit += g (1 - g) sum over rows and columns of dy (a - b)
//
// Sums are float32. NaN stays within its head. Deterministic, also over thread counts. A: the dtype of activations,
// float32 or bfloat16, one for all of a call.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct BlendForward {
  ConstTensorView a, b;    // [R, N, H] A in
  ConstTensorView logits;  // [N] float32 in
  TensorView y;            // [R, N, H] A out, overwritten; not aliased
};
void blend_forward(Queue& queue, const BlendForward& args);

struct BlendBackward {
  ConstTensorView a, b;  // as in the forward
  ConstTensorView logits;
  ConstTensorView dy;  // [R, N, H] A in
  TensorView da, db;   // [R, N, H] A out, overwritten; not aliased
  TensorView dlogits;  // [N] float32 inout, accumulated
};
void blend_backward(Queue& queue, const BlendBackward& args);

}  // namespace segue::kernels
