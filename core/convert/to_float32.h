// Weights of any floating-point type as the float32 that Segue keeps them in.
#pragma once

#include "base/buffer.h"
#include "base/tensor.h"

namespace segue {

// IEEE 754 binary16 from its bits.
float float_of_half(uint16_t bits);

// A copy of the same shape: exact from float16, bfloat16 and float32, rounded to nearest from float64. Throws
// CheckpointError beginning with `where` for integers, and for finite values that float32 cannot hold.
OwnedTensor to_float32(ConstTensorView source, const std::string& where);

}  // namespace segue
