// Activations in float32 and their derivatives. NaN stays NaN.
#pragma once

#include "kernels/cuda/simt.cuh"

namespace segue::kernels::cuda {

__device__ __forceinline__ float sigmoid(float x) {
  const float e = expf(-fabsf(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

struct Identity {
  __device__ __forceinline__ static float of(float x) { return x; }
  __device__ __forceinline__ static float slope(float) { return 1.0F; }
};
struct Silu {
  __device__ __forceinline__ static float of(float x) { return x * sigmoid(x); }
  __device__ __forceinline__ static float slope(float x) {
    const float s = sigmoid(x);
    return s * (1.0F + x * (1.0F - s));
  }
};
struct Relu {
  __device__ __forceinline__ static float of(float x) { return x < 0.0F ? 0.0F : x; }
  __device__ __forceinline__ static float slope(float x) { return x > 0.0F ? 1.0F : 0.0F; }
};
struct EluPlusOne {
  __device__ __forceinline__ static float of(float x) { return x > 0.0F ? x + 1.0F : expf(x); }
  __device__ __forceinline__ static float slope(float x) { return x > 0.0F ? 1.0F : expf(x); }
};

}  // namespace segue::kernels::cuda
