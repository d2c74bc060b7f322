// Sums of exponentials that neither overflow nor vanish: relative to the largest exponent.
#pragma once

#include <limits>

#include "kernels/cuda/simt.cuh"

namespace segue::kernels::cuda {

inline constexpr float kLog2E = 1.4426950408889634F;

__device__ __forceinline__ float exp_of(float x) { return simt::exp2_approx(x * kLog2E); }

// The largest of some logits, and the sum of exp(logit - largest). Finite at the start, so that differences are
// numbers.
struct SoftmaxSum {
  float largest = std::numeric_limits<float>::lowest();
  float sum = 0.0F;
};

__device__ __forceinline__ SoftmaxSum joined(SoftmaxSum a, SoftmaxSum b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

}  // namespace segue::kernels::cuda
