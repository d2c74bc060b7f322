// Gradient clipping on the CPU; arguments as checked by kernels/gradient_clip.cc.
#pragma once

#include "kernels/gradient_clip.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void gradient_norm(const Stream& stream, const GradientNorm& args);
void clip_gradients(const Stream& stream, const GradientClip& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
