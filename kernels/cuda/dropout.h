// Dropout on a GPU; arguments as checked by kernels/dropout.cc.
#pragma once

#include "kernels/dropout.h"

namespace segue::kernels::cuda {

void dropout_forward(Stream& stream, const DropoutForward& args);
void dropout_backward(Stream& stream, const DropoutBackward& args);

}  // namespace segue::kernels::cuda
