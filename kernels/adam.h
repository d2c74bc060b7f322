// Adam and AdamW (Kingma & Ba 2015; Loshchilov & Hutter 2019) over one flat block of parameters, and its gradient norm.
//
// clip      norm = sqrt(sum of g²), summed in double in a fixed order;  scale = min(1, clip / (norm + 1e-6))
// step t    g' = scale * g;  m = beta1 m + (1 - beta1) g';  v = beta2 v + (1 - beta2) g'²
//           p = p * (1 - lr * weight_decay)                                                   (decoupled decay)
//           p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)            (bias corrected)
// Norm and scale stay where the kernels run: a step waits for nothing. With a norm that is not finite, step t leaves
// everything as it is. Deterministic, also over thread counts.
#pragma once

#include "base/tensor.h"
#include "kernels/stream.h"

namespace segue::kernels {

// Their borders depend on the number of elements alone.
constexpr int kGradientNormParts = 256;

struct GradientNorm {
  ConstTensorView gradients;  // [S] float32 in
  TensorView parts;           // [kGradientNormParts] float64 out: sums of squares
};
void gradient_norm(Stream& stream, const GradientNorm& args);

struct GradientClip {
  ConstTensorView parts;  // [kGradientNormParts] float64 in; summed over ranks when each holds a part of the gradients
  double clip = 0.0;      // largest norm that passes as it is; 0: any
  TensorView outcome;     // [2] float64 out: norm, scale
};
void clip_gradients(Stream& stream, const GradientClip& args);

struct AdamStep {
  TensorView parameters;         // [S] float32 inout
  ConstTensorView gradients;     // [S] float32 in
  TensorView first_moment;       // [S] float32 inout: m
  TensorView second_moment;      // [S] float32 inout: v
  TensorView compute_copy = {};  // [S] bfloat16 out: the parameters rounded; or empty. CUDA only
  ConstTensorView clipped = {};  // [2] float64 in: the outcome of clip_gradients; or empty: scale 1
  double learning_rate = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  int64_t step = 1;  // t, counted from 1
};
void adam_step(Stream& stream, const AdamStep& args);

}  // namespace segue::kernels
