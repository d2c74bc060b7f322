#include "kernels/cpu/multiply.h"

#include <algorithm>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/transposed_product.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// Of narrower results oneDNN is faster, also without AVX-512: 256 x 64 over 1024 tokens at 208 GFLOP/s beside 182.
constexpr int64_t kLeastSide = 128;

bool is_ours(const Gemm& args) {
  return std::min(args.m, args.n) >= kLeastSide && args.transpose_a && !args.transpose_b &&
         args.operands == DType::kFloat32 && args.result == DType::kFloat32 && args.bias == nullptr && args.k > 0 &&
         !has_avx512_products();
}

}  // namespace

void multiply(const Queue& queue, const Gemm& args) {
  is_ours(args) ? transposed_product(queue, args) : gemm(queue, args);
}

void multiply(const Queue& queue, const Matmul& args, const float* bias) {
  multiply(queue, Gemm{.m = args.c.shape[0],
                       .n = args.c.shape[1],
                       .k = args.a.shape[args.transpose_a ? 0 : 1],
                       .a = args.a.data,
                       .a_stride = args.a.shape[1],
                       .b = args.b.data,
                       .b_stride = args.b.shape[1],
                       .bias = bias,
                       .c = args.c.data,
                       .c_stride = args.c.shape[1],
                       .operands = args.a.dtype,
                       .result = args.c.dtype,
                       .transpose_a = args.transpose_a,
                       .transpose_b = args.transpose_b,
                       .accumulate = args.accumulate});
}

void multiply_in_thread(const Queue& queue, const Gemm& args) {
  is_ours(args) ? transposed_product_in_thread(queue, args) : gemm_in_thread(queue, args);
}

void matmul(Queue& queue, const Matmul& args) { multiply(queue, args); }

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
