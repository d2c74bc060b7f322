// Transposes matrices, because TensorFlow's kernels are [in, out].
#pragma once

#include "base/buffer.h"
#include "base/tensor.h"

namespace segue {

// A float32 matrix [n, m] as [m, n].
OwnedTensor transposed(ConstTensorView matrix);

// The rows of a float32 tensor, last first.
OwnedTensor with_rows_reversed(ConstTensorView tensor);

}  // namespace segue
