// What queries read of a state that no token changes meanwhile.
//
// Of every stream and head, with S its state [K, V]:
//
//   forward   o = S' q
//   backward  dq = S do;  dS (+)= sum over tokens of q do'
//
// Deterministic, whatever the number of threads. A: the dtype of activations, float32 or bfloat16, one for all of a
// call; sums and states are float32, operands of a GPU's products A.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct StateReadForward {
  ConstTensorView q;      // [B, T, N, K] A in, K at most kMaxStateKeys
  ConstTensorView state;  // [B, N, K, V] float32 in, V at most kMaxStateValues
  TensorView output;      // [B, T, N, V] A out, overwritten; not aliased
};
void state_read_forward(Queue& queue, const StateReadForward& args);

struct StateReadBackward {
  ConstTensorView q;        // as in the forward
  ConstTensorView state;    // the same
  ConstTensorView doutput;  // [B, T, N, V] A in
  TensorView dq;            // [B, T, N, K] A out, overwritten; not aliased; or none
  TensorView dstate;        // [B, N, K, V] float32, or none: nothing wants it; not aliased
  bool accumulate = false;  // whether dstate is added to, or overwritten
};
void state_read_backward(Queue& queue, const StateReadBackward& args);

}  // namespace segue::kernels
