// Checks that weights are finite: one NaN or infinity among them makes all of a model's losses NaN.
#pragma once

#include <string>

#include "base/tensor.h"

namespace segue {

// Throws CheckpointError beginning with `where`, naming the first element of a float32 tensor that is not finite, its
// position, and how many there are.
void check_finite(ConstTensorView weights, const std::string& where);

}  // namespace segue
