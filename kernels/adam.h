// Adam and AdamW (Kingma & Ba 2015; Loshchilov & Hutter 2019) over one flat block of parameters, and its gradient norm.
//
// norm      sqrt(sum of g²), summed in double in a fixed order
// step t    g' = gradient_scale * g;  m = beta1 m + (1 - beta1) g';  v = beta2 v + (1 - beta2) g'²
//           p = p * (1 - lr * weight_decay)                                                   (decoupled decay)
//           p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)            (bias corrected)
// `gradient_scale` carries the global-norm clip: min(1, clip / (norm + 1e-6)). Deterministic, also over thread counts.
#pragma once

#include "base/tensor.h"
#include "kernels/stream.h"

namespace segue::kernels {

double gradient_norm(Stream& stream, ConstTensorView gradients);  // [S] float32 in

struct AdamStep {
  TensorView parameters;      // [S] float32 inout
  ConstTensorView gradients;  // [S] float32 in
  TensorView first_moment;    // [S] float32 inout: m
  TensorView second_moment;   // [S] float32 inout: v
  double learning_rate = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  double gradient_scale = 1.0;
  int64_t step = 1;  // t, counted from 1
};
void adam_step(Stream& stream, const AdamStep& args);

}  // namespace segue::kernels
