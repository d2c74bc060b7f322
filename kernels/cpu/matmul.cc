// Whole tensors as operands of gemm.
#include "kernels/cpu/matmul.h"

#include "kernels/cpu/gemm.h"

namespace segue::kernels::cpu {

void matmul(const Stream& stream, const Matmul& args) { matmul_and_bias(stream, args, nullptr); }

void matmul_and_bias(const Stream& stream, const Matmul& args, const float* bias) {
  gemm(stream, {.m = args.c.shape[0],
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

}  // namespace segue::kernels::cpu
