// Matrix products on the CPU; arguments as checked by kernels/matmul.cc.
#pragma once

#include "kernels/matmul.h"

namespace segue::kernels::cpu {

void matmul(const Stream& stream, const Matmul& args);

// c = op(a) · op(b) + bias, a vector of c's columns or null.
void matmul_and_bias(const Stream& stream, const Matmul& args, const float* bias);

}  // namespace segue::kernels::cpu
