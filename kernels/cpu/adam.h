// Adam on the CPU; arguments as checked by kernels/adam.cc.
#pragma once

#include "kernels/adam.h"

namespace segue::kernels::cpu {

double gradient_norm(const Stream& stream, ConstTensorView gradients);
void adam_step(const Stream& stream, const AdamStep& args);

}  // namespace segue::kernels::cpu
