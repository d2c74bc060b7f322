// The outcome of clip_gradients as a step reads it.
#pragma once

#include <cmath>

#include "kernels/cuda/simt.cuh"

namespace segue::kernels::cuda {

// Whether the norm is not finite, and the step is left out. `clipped` may be null.
__device__ __forceinline__ bool is_left_out(const double* clipped) {
  return clipped != nullptr && !std::isfinite(clipped[0]);
}

// The factor of the gradients.
__device__ __forceinline__ float clipped_scale(const double* clipped) {
  return clipped == nullptr ? 1.0F : static_cast<float>(clipped[1]);
}

}  // namespace segue::kernels::cuda
