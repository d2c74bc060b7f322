// Matrix products on the CPU; arguments as checked by kernels/matmul.cc.
#pragma once

#include "kernels/matmul.h"

namespace segue::kernels::cpu {

void matmul(const Stream& stream, const Matmul& args);

}  // namespace segue::kernels::cpu
