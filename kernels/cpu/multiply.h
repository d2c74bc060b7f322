// Matrix products, each by what computes it fastest here: oneDNN, or for aᵀ · b without AVX-512 transposed_product.h.
#pragma once

#include "kernels/cpu/gemm.h"
#include "kernels/matmul.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// With all threads of the queue; throws DeviceError when oneDNN refuses.
void multiply(const Queue& queue, const Gemm& args);
// c = op(a) · op(b) + bias, a vector of c's columns or null.
void multiply(const Queue& queue, const Matmul& args, const float* bias = nullptr);

// With the calling thread alone, inside a parallel region.
void multiply_in_thread(const Queue& queue, const Gemm& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
