// How far one tensor is from another that is a constant, stream by stream.
//
// forward   sums[s] = scale * sum over e of (b[s, e] - a[s, e])² (or sums +=)
// backward  db[s, e] = 2 * scale * (b[s, e] - a[s, e]) (or db +=)
//
// Nothing is saved. fp32 accumulation. Deterministic, also over thread counts.
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct SquaredDifferenceForward {
  ConstTensorView a;  // [S, E] A in
  ConstTensorView b;  // [S, E] A in
  float scale = 1.0F;
  TensorView sums;          // [S] float32 out
  bool accumulate = false;  // sums += instead of sums =
};
void squared_difference_forward(Queue& queue, const SquaredDifferenceForward& args);

struct SquaredDifferenceBackward {
  ConstTensorView a;  // [S, E] A in
  ConstTensorView b;  // [S, E] A in
  float scale = 1.0F;
  TensorView db;            // [S, E] A out; aliased with neither
  bool accumulate = false;  // db += instead of db =
};
void squared_difference_backward(Queue& queue, const SquaredDifferenceBackward& args);

}  // namespace segue::kernels
