// Embedding: rows of a table, scaled, with dropout.
//
// The table holds the rows of tokens [f, f + V), f = first_token; other tokens have a row of zeros.
// forward   y[i, :] = m[i, :] * scale * table[tokens[i] - f, :]      (m: the dropout multiplier)
// backward  dtable[tokens[i] - f, :] += scale * m[i, :] * dy[i, :]   (each row summed in a fixed order: deterministic)
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "kernels/dropout.h"

namespace segue::kernels {

// The tokens whose rows a table holds.
struct TokenRange {
  int64_t first;
  int64_t count;

  constexpr int64_t row(int32_t token) const { return token - first; }
  constexpr bool holds(int32_t token) const { return row(token) >= 0 && row(token) < count; }
};

struct EmbeddingForward {
  ConstTensorView tokens;  // [R] int32 in, each in the vocabulary; ContractError names the first that is not
  ConstTensorView table;   // [V, D] A in
  float scale = 1.0F;
  Dropout dropout = {};  // over [R, D]
  TensorView y;          // [R, D] A out, overwritten
  int64_t first_token = 0;
  int64_t vocabulary = 0;  // how many tokens there are, at least f + V; 0: f + V
};
void embedding_forward(Queue& queue, const EmbeddingForward& args);

struct EmbeddingBackward {
  ConstTensorView tokens;  // [R] int32 in
  ConstTensorView dy;      // [R, D] A in
  float scale = 1.0F;
  Dropout dropout = {};  // as in the forward
  TensorView dtable;     // [V, D] float32 inout, accumulated
  int64_t first_token = 0;
  int64_t vocabulary = 0;  // as in the forward
};
void embedding_backward(Queue& queue, const EmbeddingBackward& args);

}  // namespace segue::kernels
