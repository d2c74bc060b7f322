// Embedding: rows of a table, scaled, with dropout.
//
// forward   y[i, :] = m[i, :] * scale * table[tokens[i], :]          (m: the dropout multiplier)
// backward  dtable[tokens[i], :] += scale * m[i, :] * dy[i, :]       (each row summed in a fixed order: deterministic)
// A: the dtype of activations, float32 or bfloat16, one for all of a call; on the CPU float32 only.
#pragma once

#include "kernels/dropout.h"

namespace segue::kernels {

struct EmbeddingForward {
  ConstTensorView tokens;  // [R] int32 in, each in [0, V); ContractError names the first that is not
  ConstTensorView table;   // [V, D] A in
  float scale = 1.0F;
  Dropout dropout = {};  // over [R, D]
  TensorView y;          // [R, D] A out, overwritten
};
void embedding_forward(Stream& stream, const EmbeddingForward& args);

struct EmbeddingBackward {
  ConstTensorView tokens;  // [R] int32 in
  ConstTensorView dy;      // [R, D] A in
  float scale = 1.0F;
  Dropout dropout = {};  // as in the forward
  TensorView dtable;     // [V, D] float32 inout, accumulated
};
void embedding_backward(Stream& stream, const EmbeddingBackward& args);

}  // namespace segue::kernels
