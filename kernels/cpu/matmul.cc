// Whole tensors as operands of gemm.
#include "kernels/cpu/matmul.h"

#include "kernels/cpu/gemm.h"

namespace segue::kernels::cpu {

void matmul(const Stream& stream, const Matmul& args) {
  gemm(stream, {.m = args.c.shape[0],
                .n = args.c.shape[1],
                .k = args.a.shape[args.transpose_a ? 0 : 1],
                .a = args.a.as<float>(),
                .a_stride = args.a.shape[1],
                .transpose_a = args.transpose_a,
                .b = args.b.as<float>(),
                .b_stride = args.b.shape[1],
                .transpose_b = args.transpose_b,
                .c = args.c.as<float>(),
                .c_stride = args.c.shape[1],
                .accumulate = args.accumulate});
}

}  // namespace segue::kernels::cpu
