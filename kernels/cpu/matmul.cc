// Matrix products: whole tensors as operands of oneDNN.
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/operations.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void matmul(Queue& queue, const Matmul& args) { gemm(queue, args); }

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
