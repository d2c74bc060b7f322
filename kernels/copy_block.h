// A block of every stream's rows, copied into another tensor of streams or added to it: the newest rows of a segment,
// keys and values into the rows that are kept of them.
//
//   to[b, to_row + i, to_column + c] (+)= from[b, from_row + i, from_column + c]   for i < rows, c < columns
//
// Elements outside the block stay as they are. `from` and `to` may be one tensor when the two blocks have no element in
// common. Deterministic. A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct CopyBlock {
  ConstTensorView from;  // [B, R, E] A in
  int64_t from_row = 0;
  int64_t from_column = 0;
  TensorView to;  // [B, S, F] A inout
  int64_t to_row = 0;
  int64_t to_column = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  bool accumulate = false;
};
void copy_block(Queue& queue, const CopyBlock& args);

}  // namespace segue::kernels
