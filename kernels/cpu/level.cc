// The table of one level's operations.
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/operations.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

extern const Operations kOperations;
constinit const Operations kOperations{.level = SEGUE_CPU_LEVEL_NAME,
                                       .widest_head = kMaxHeadWidth,
                                       .has_bfloat16_products = has_bfloat16_products,
                                       .linear_cross_entropy_workspace = linear_cross_entropy_workspace,
                                       .relative_attention_workspace = relative_attention_workspace,
                                       SEGUE_OPERATIONS(SEGUE_LISTED_OPERATION)};

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
