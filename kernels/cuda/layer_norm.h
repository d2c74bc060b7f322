// Layer normalisation on a GPU; arguments as checked by kernels/layer_norm.cc.
#pragma once

#include "kernels/layer_norm.h"

namespace segue::kernels::cuda {

void layer_norm_forward(Stream& stream, const LayerNormForward& args);
void layer_norm_backward(Stream& stream, const LayerNormBackward& args);

}  // namespace segue::kernels::cuda
