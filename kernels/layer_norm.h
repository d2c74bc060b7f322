// Layer normalisation of a residual sum (Ba et al. 2016), fused with the residual branch's dropout.
//
// forward   s = x + dropout(branch)   (s = x when branch is empty)
//           mean, var over the D features of a row, biased;  rstd = 1/sqrt(var + epsilon)
//           y = (s - mean) * rstd * gain + bias
// backward  with n = (s - mean) * rstd and g = dy * gain:
//           ds = rstd * (g - mean(g) - n * mean(g * n)) + ds_other      (means over the row)
//           dx = ds (or dx += ds);  dbranch = dropout'(ds);  dgain += sum over rows of dy * n;  dbias += sum of dy
// Post-norm blocks use y as the residual and save s; pre-norm blocks carry s on as the residual and hand its
// gradient back in ds_other. Row statistics in fp32. Deterministic, also over thread counts.
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include <cstdint>

#include "kernels/dropout.h"

namespace segue::kernels {

constexpr int64_t kMaxNormWidth = 8192;  // D, at most

struct LayerNormForward {
  ConstTensorView x;            // [R, D] A in
  ConstTensorView branch = {};  // [R, D] A in, or empty: no residual sum
  Dropout dropout = {};         // of the branch, over [R, D]
  ConstTensorView gain;         // [D] float32 in
  ConstTensorView bias;         // [D] float32 in
  float epsilon = 1e-5F;
  TensorView sum = {};  // [R, D] A out: s; empty when branch is empty; may be x or branch itself
  TensorView y;         // [R, D] A out
  TensorView mean;      // [R] float32 out, saved
  TensorView rstd;      // [R] float32 out, saved
};
void layer_norm_forward(Queue& queue, const LayerNormForward& args);

struct LayerNormBackward {
  ConstTensorView dy;             // [R, D] A in
  ConstTensorView ds_other = {};  // [R, D] A in, or empty: gradient that reaches s by another way
  ConstTensorView sum;            // [R, D] A in: s as saved (x when there was no branch)
  ConstTensorView mean;           // [R] float32 in
  ConstTensorView rstd;           // [R] float32 in
  ConstTensorView gain;           // [D] float32 in
  Dropout dropout = {};           // as in the forward
  TensorView dx = {};             // [R, D] A out, or empty (memory rows: no gradient leaves); may be dy or ds_other
  bool accumulate_dx = false;
  TensorView dbranch = {};  // [R, D] A out, overwritten; empty when there was no branch; not aliased with dx
  TensorView dgain;         // [D] float32 inout, accumulated; this and dbias empty where they are not wanted
  TensorView dbias;         // [D] float32 inout, accumulated
};
void layer_norm_backward(Queue& queue, const LayerNormBackward& args);

}  // namespace segue::kernels
