// The position-wise feed-forward network: two matrix products with an activation and dropout between.
//
// forward   pre = x · W1ᵀ + b1;  hidden = dropout(act(pre));  y = hidden · W2ᵀ + b2
// backward  dW2 += dyᵀ · hidden;  db2 += sum of dy;  dhidden = dy · W2;  dpre = act'(pre) * dropout'(dhidden)
//           dW1 += dpreᵀ · x;  db1 += sum of dpre;  dx = dpre · W1 (or dx +=)
// act: ReLU, or GELU in its exact form x * Phi(x) (Hendrycks & Gimpel 2016). Saved for backward: hidden, and pre for
// GELU only (with ReLU, hidden > 0 marks both the kept and the active units). Deterministic for a given number of
// threads.
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "kernels/dropout.h"

namespace segue::kernels {

enum class Activation : uint8_t { kRelu, kGelu };

struct FeedForwardForward {
  ConstTensorView x;   // [R, D] A in
  ConstTensorView w1;  // [F, D] A in
  ConstTensorView b1;  // [F] float32 in
  ConstTensorView w2;  // [D, F] A in
  ConstTensorView b2;  // [D] float32 in
  Activation activation = Activation::kRelu;
  Dropout dropout = {};  // of the hidden units, over [R, F]
  TensorView pre = {};   // [R, F] A out, saved; empty for ReLU
  TensorView hidden;     // [R, F] A out, saved
  TensorView y;          // [R, D] A out, overwritten
};
void feed_forward_forward(Queue& queue, const FeedForwardForward& args);

struct FeedForwardBackward {
  ConstTensorView dy;        // [R, D] A in
  ConstTensorView x;         // [R, D] A in
  ConstTensorView w1;        // [F, D] A in
  ConstTensorView w2;        // [D, F] A in
  ConstTensorView pre = {};  // [R, F] A in; empty for ReLU
  ConstTensorView hidden;    // [R, F] A in
  Activation activation = Activation::kRelu;
  Dropout dropout = {};  // as in the forward
  TensorView workspace;  // [R, F] A scratch: dpre
  TensorView dx;         // [R, D] A out
  bool accumulate_dx = false;
  TensorView dw1;  // [F, D] float32 inout, accumulated
  TensorView db1;  // [F] float32 inout, accumulated
  TensorView dw2;  // [D, F] float32 inout, accumulated
  TensorView db2;  // [D] float32 inout, accumulated
};
void feed_forward_backward(Queue& queue, const FeedForwardBackward& args);

}  // namespace segue::kernels
