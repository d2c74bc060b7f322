// The global norm of gradients that lie in one flat block, and the scale that brings it down to a limit.
//
// norm = sqrt(sum of g²), summed in double in a fixed order;  scale = min(1, clip / (norm + 1e-6))
// Both stay where the kernels run: a step waits for nothing. Deterministic, also over thread counts.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

// Where parts begin depends on the number of elements alone.
constexpr int kGradientNormParts = 256;

struct GradientNorm {
  ConstTensorView gradients;  // [S] float32 in
  TensorView parts;           // [kGradientNormParts] float64 out: sums of squares
};
void gradient_norm(Queue& queue, const GradientNorm& args);

struct GradientClip {
  ConstTensorView parts;  // [kGradientNormParts] float64 in; summed over ranks when each holds a part of the gradients
  double clip = 0.0;      // largest norm that passes as it is; 0: any
  TensorView outcome;     // [2] float64 out: norm, scale
};
void clip_gradients(Queue& queue, const GradientClip& args);

}  // namespace segue::kernels
