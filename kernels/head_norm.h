// What is done to queries, keys and outputs of a state, head by head: an activation, a norm, a gain and a gate.
//
// Of a row of H columns, with a = f(x), silu(x) = x / (1 + e^-x):
//
//   forward   scale = 1 / sqrt(sum of a² + epsilon)         kUnit (of keys: Yang et al. 2024, arXiv:2406.06484)
//             scale = 1 / sqrt(mean of a² + epsilon)        kRootMeanSquare (Zhang and Sennrich 2019)
//             scale = 1                                     kNone
//             y = a scale gain silu(gate)                   gain and silu(gate): 1 where they are left out
//   backward  e = dy gain silu(gate);  da = scale (e - a scale² sum(e a))    over the row, with kRootMeanSquare its
//   mean;
//             without a norm da = e;  dx = da f'(x)
//             dgate = dy a scale gain silu'(gate);  dgain += sum over rows of dy a scale silu(gate)
//
// Deterministic, also over thread counts. A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

constexpr int64_t kMaxHeadNormWidth = 512;  // H, at most

enum class Feature : uint8_t { kIdentity, kSilu, kRelu, kEluPlusOne };
enum class HeadNorm : uint8_t { kNone, kUnit, kRootMeanSquare };

struct HeadNormInputs {
  Feature feature = Feature::kIdentity;
  HeadNorm norm = HeadNorm::kNone;
  float epsilon = 1e-6F;
  ConstTensorView x;          // [R, H] A in
  ConstTensorView gain = {};  // [H] float32 in, or empty
  ConstTensorView gate = {};  // [R, H] A in, or empty
};

struct HeadNormForward {
  HeadNormInputs inputs;
  TensorView y;      // [R, H] A out; may be x itself where nothing goes backward
  TensorView scale;  // [R] float32 out, saved; empty with kNone
};
void head_norm_forward(Queue& queue, const HeadNormForward& args);

struct HeadNormBackward {
  HeadNormInputs inputs;  // as in the forward
  ConstTensorView scale;  // as saved
  ConstTensorView dy;     // [R, H] A in
  TensorView dx;          // [R, H] A out, overwritten; may be dy, not x
  TensorView dgain;       // [H] float32 inout, accumulated; empty where gain is
  TensorView dgate;       // [R, H] A out, overwritten; empty where gate is; not aliased with dx
};
void head_norm_backward(Queue& queue, const HeadNormBackward& args);

}  // namespace segue::kernels
