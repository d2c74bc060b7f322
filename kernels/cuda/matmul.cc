// Matrix products on a GPU.
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

void matmul(Queue& queue, const Matmul& args) {
  gemm(queue, {.a = args.a,
               .transpose_a = args.transpose_a,
               .b = args.b,
               .transpose_b = args.transpose_b,
               .c = args.c,
               .accumulate = args.accumulate});
}

}  // namespace segue::kernels::cuda
