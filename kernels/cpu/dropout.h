// Dropout on the CPU; arguments as checked by kernels/dropout.cc.
#pragma once

#include "kernels/dropout.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void dropout_forward(const Stream& stream, const DropoutForward& args);
void dropout_backward(const Stream& stream, const DropoutBackward& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
