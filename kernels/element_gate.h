// What gates let through, element by element: how gated blocks join a branch to the residual (Parisotto et al. 2019,
// arXiv:1910.06764, section 3.2), and how recurrent states take up what is new (Hutchins et al. 2022,
// arXiv:2203.07852).
//
// With s(z) = 1 / (1 + e^-z), z = logit + bias_factor bias of an element, and v = a or tanh(a):
//
//   forward   y = b + s(z) (v - b)
//   backward  da = s(z) dy, times 1 - v² where v = tanh(a);  db = (1 - s(z)) dy
//             dlogit = s(z) (1 - s(z)) dy (v - b);  dbias[c] += bias_factor times the sum of dlogit over rows
//
// What is left out counts as 0. NaN stays within its element, and on its way to a bias within
// its column. Deterministic, also over thread counts. A: the dtype of activations, float32 or bfloat16, one for all of
// a call; arithmetic is in float32.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct ElementGateInputs {
  ConstTensorView a;            // [R, C] A
  bool is_bounded = false;      // v = tanh(a)
  ConstTensorView b = {};       // [R, C] A; empty: zeros
  ConstTensorView logits = {};  // [R, C] A; empty: zeros, where there is a bias
  ConstTensorView bias = {};    // [C] float32; empty: zeros, where there are logits
  float bias_factor = 1.0F;
};

struct ElementGateForward {
  ElementGateInputs in;
  TensorView y;  // [R, C] A out, overwritten; not aliased
};
void element_gate_forward(Queue& queue, const ElementGateForward& args);

// A gradient is overwritten, or where others have added to it, added to; empty where nobody wants it. None is aliased.
struct ElementGateGradient {
  TensorView to = {};
  bool accumulate = false;
};

struct ElementGateBackward {
  ElementGateInputs in;              // as in the forward
  ConstTensorView dy;                // [R, C] A in
  ElementGateGradient da = {};       // [R, C] A
  ElementGateGradient db = {};       // [R, C] A; empty without b
  ElementGateGradient dlogits = {};  // [R, C] A; empty without logits
  TensorView dbias = {};             // [C] float32 inout, accumulated; empty without a bias, or where it is not learned
};
void element_gate_backward(Queue& queue, const ElementGateBackward& args);

}  // namespace segue::kernels
