// Gradient clipping on a GPU; arguments as checked by kernels/gradient_clip.cc.
#pragma once

#include "kernels/gradient_clip.h"

namespace segue::kernels::cuda {

void gradient_norm(Stream& stream, const GradientNorm& args);
void clip_gradients(Stream& stream, const GradientClip& args);

}  // namespace segue::kernels::cuda
