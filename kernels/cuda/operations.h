// The operations of a GPU, queued: CUDA's, or those of the emulated GPU.
#pragma once

#include "kernels/operations.h"

namespace segue::kernels::cuda {

constexpr int64_t kMaxHeadWidth = 128;  // H of relative attention

SEGUE_OPERATIONS(SEGUE_DECLARED_OPERATION)
int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents);
int64_t relative_attention_workspace(const RelativeAttentionExtents& extents);

// In a program that was built without CUDA they throw DeviceError.
const Operations& operations();

}  // namespace segue::kernels::cuda
