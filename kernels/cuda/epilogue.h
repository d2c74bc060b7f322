// What a product's epilogue does, in passes of their own, for products into which cuBLASLt cannot fuse it. The bias
// goes ahead of the product, which is then added to it, so that sums are rounded once as with an epilogue.
#pragma once

#include "base/tensor.h"
#include "kernels/stream.h"

namespace segue::kernels::cuda {

// Of float32 or bfloat16 [m, n].
struct Rows {
  TensorView elements;
  int64_t stride;  // elements from one row to the next
};

void spread_bias(Stream& stream, const Rows& rows, ConstTensorView bias);  // every row = bias [n], of the same dtype
void relu(Stream& stream, const Rows& rows);                               // rows = max(0, rows)

}  // namespace segue::kernels::cuda
