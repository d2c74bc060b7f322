// Adam on a GPU; arguments as checked by kernels/adam.cc.
#pragma once

#include "kernels/adam.h"

namespace segue::kernels::cuda {

void gradient_norm(Stream& stream, const GradientNorm& args);
void clip_gradients(Stream& stream, const GradientClip& args);
void adam_step(Stream& stream, const AdamStep& args);

}  // namespace segue::kernels::cuda
