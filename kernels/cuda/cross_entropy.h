// Softmax cross-entropy on a GPU; arguments as checked by kernels/cross_entropy.cc.
#pragma once

#include "kernels/cross_entropy.h"

namespace segue::kernels::cuda {

void cross_entropy_forward(Stream& stream, const CrossEntropyForward& args);
void cross_entropy_backward(Stream& stream, const CrossEntropyBackward& args);

}  // namespace segue::kernels::cuda
