// Matrix products on a GPU; arguments as checked by kernels/matmul.cc.
#pragma once

#include "kernels/matmul.h"

namespace segue::kernels::cuda {

void matmul(Stream& stream, const Matmul& args);

}  // namespace segue::kernels::cuda
