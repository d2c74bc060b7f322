// Adam on the CPU; arguments as checked by kernels/adam.cc.
#pragma once

#include "kernels/adam.h"

namespace segue::kernels::cpu {

void gradient_norm(const Stream& stream, const GradientNorm& args);
void clip_gradients(const Stream& stream, const GradientClip& args);
void adam_step(const Stream& stream, const AdamStep& args);

}  // namespace segue::kernels::cpu
