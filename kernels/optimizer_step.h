// One step of an optimizer over one flat block of parameters: Adam and AdamW (Kingma & Ba 2015; Loshchilov & Hutter
// 2019), Adagrad (Duchi et al. 2011), and gradient descent with momentum as in torch.optim.SGD. With g' = scale * g:
//
// Adam      m = beta1 m + (1 - beta1) g';  v = beta2 v + (1 - beta2) g'²
//           p = p * (1 - lr * weight_decay)                                                   (decoupled decay)
//           p = p - lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)            (bias corrected)
// Adagrad   s = s + g'²;             p = p - lr * g' / (sqrt(s) + epsilon)
// SGD       b = momentum * b + g';   p = p - lr * b
// With a norm that is not finite, a step leaves everything as it is. Deterministic, also over thread counts.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

// The tensors every optimizer updates and reads.
struct ParameterUpdate {
  TensorView parameters;         // [S] float32 inout: p
  ConstTensorView gradients;     // [S] float32 in: g
  TensorView compute_copy = {};  // [S] bfloat16 out: the parameters rounded; or empty
  ConstTensorView clipped = {};  // [2] float64 in: the outcome of clip_gradients; or empty: scale 1
  double learning_rate = 0.0;    // lr
};

struct AdamStep {
  ParameterUpdate update;
  TensorView first_moment;   // [S] float32 inout: m
  TensorView second_moment;  // [S] float32 inout: v
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  int64_t step = 1;  // t, counted from 1
};
void adam_step(Queue& queue, const AdamStep& args);

struct AdagradStep {
  ParameterUpdate update;
  TensorView sum_of_squares;  // [S] float32 inout: s
  double epsilon = 1e-10;
};
void adagrad_step(Queue& queue, const AdagradStep& args);

struct SgdStep {
  ParameterUpdate update;
  TensorView velocity = {};  // [S] float32 inout: b; empty without momentum
  double momentum = 0.0;
};
void sgd_step(Queue& queue, const SgdStep& args);

}  // namespace segue::kernels
