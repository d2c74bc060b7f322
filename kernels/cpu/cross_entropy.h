// Softmax cross-entropy on the CPU; arguments as checked by kernels/cross_entropy.cc.
#pragma once

#include "kernels/cross_entropy.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void cross_entropy_forward(const Stream& stream, const CrossEntropyForward& args);
void cross_entropy_backward(const Stream& stream, const CrossEntropyBackward& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
