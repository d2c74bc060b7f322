// Softmax cross-entropy against a linear layer on the CPU; arguments as checked by kernels/linear_cross_entropy.cc.
#pragma once

#include "kernels/linear_cross_entropy.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void linear_cross_entropy(const Stream& stream, const LinearCrossEntropy& args);
int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents);  // elements, of float32

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
