// The operations of the processor, compiled once for each level of x86-64, in a namespace of that name.
//
// A level's operations are reached through its table alone, of which one is chosen at run time. Matrix products are
// oneDNN's, which chooses for itself.
#pragma once

#include "kernels/operations.h"

namespace segue::kernels::cpu {

constexpr int64_t kMaxHeadWidth = 256;  // H of relative attention

// The best that this processor runs, or the one that SEGUE_CPU_LEVEL in the environment names ("x86-64-v3"). Throws
// DeviceError when the processor does not run that level or this build lacks it, and when it runs none of them.
const Operations& best_level();

#ifdef SEGUE_CPU_LEVEL
inline namespace SEGUE_CPU_LEVEL {

SEGUE_OPERATIONS(SEGUE_DECLARED_OPERATION)
int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents);
int64_t relative_attention_workspace(const RelativeAttentionExtents& extents);

}  // namespace SEGUE_CPU_LEVEL
#endif

}  // namespace segue::kernels::cpu
