// A product's epilogue in separate passes, for products into which cuBLASLt cannot fuse it. The bias goes ahead of the
// product, which is then added to it, so that sums are rounded once as with an epilogue.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels::cuda {

// Rows of float32 or bfloat16 [m, n], m > 0.
struct ProductRows {
  TensorView elements;
  int64_t stride;  // elements from one row to the next
};

// Every row = bias [n], of the same dtype.
void spread_bias(Queue& queue, const ProductRows& rows, ConstTensorView bias);
// rows = max(0, rows).
void relu(Queue& queue, const ProductRows& rows);

}  // namespace segue::kernels::cuda
