// Matrix products on row-major blocks that may lie inside larger tensors (oneDNN's sgemm).
//
// Chosen over oneDNN's matmul primitive: as fast on the shapes of a training step, faster on small ones, and it needs
// no cache of primitives, no scratchpad, and may be called by each thread of a parallel region for a product of its
// own.
#pragma once

#include <cstdint>

#include "kernels/stream.h"

namespace segue::kernels::cpu {

// c = op(a) · op(b), or c += with accumulate. Strides count elements from one stored row to the next.
struct Gemm {
  int64_t m = 0;  // rows of c
  int64_t n = 0;  // columns of c
  int64_t k = 0;
  const float* a = nullptr;  // [m, k], or [k, m] when transpose_a
  int64_t a_stride = 0;
  bool transpose_a = false;
  const float* b = nullptr;  // [k, n], or [n, k] when transpose_b
  int64_t b_stride = 0;
  bool transpose_b = false;
  float* c = nullptr;  // [m, n]
  int64_t c_stride = 0;
  bool accumulate = false;
};

// With all threads of the stream; throws DeviceError when oneDNN refuses.
void gemm(const Stream& stream, const Gemm& args);

// With the calling thread alone, inside a parallel region.
void gemm_in_thread(const Gemm& args);

}  // namespace segue::kernels::cpu
