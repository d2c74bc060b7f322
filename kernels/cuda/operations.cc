// The table of a GPU's operations.
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

const Operations& operations() {
  static const Operations table{.level = "CUDA",
                                .widest_head = kMaxHeadWidth,
                                .has_bfloat16_products = [] { return true; },
                                .linear_cross_entropy_workspace = linear_cross_entropy_workspace,
                                .relative_attention_workspace = relative_attention_workspace,
                                SEGUE_OPERATIONS(SEGUE_LISTED_OPERATION)};
  return table;
}

}  // namespace segue::kernels::cuda
