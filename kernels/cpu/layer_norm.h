// Layer normalisation on the CPU; arguments as checked by kernels/layer_norm.cc.
#pragma once

#include "kernels/layer_norm.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void layer_norm_forward(const Stream& stream, const LayerNormForward& args);
void layer_norm_backward(const Stream& stream, const LayerNormBackward& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
