// Softmax cross-entropy per token.
//
// forward   z = logits + bias;  lse[i] = log sum_c exp z[i, c];  nll[i] = lse[i] - z[i, targets[i]]
// backward  dlogits[i, c] = scale * (exp(z[i, c] - lse[i]) - [c == targets[i]])
//           dbias[c] += sum over i of dlogits[i, c]
// margin    z[i, targets[i]] - max over the other c of z[i, c]: above 0 exactly where the target alone is the most
//           likely class; infinity where there is no other class, NaN where nll is
//
// A row whose target is -1 is not scored: nll, lse, margin and its gradient are 0, whatever its logits are.
// The bias is added in passing; logits are stored once, the gradient overwrites them. Loss and softmax in fp32.
// Deterministic, also over thread counts.
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

// The target of a row that is not scored.
constexpr int32_t kNotScored = -1;

struct CrossEntropyForward {
  ConstTensorView logits;     // [R, V] A in, without the bias
  ConstTensorView bias = {};  // [V] float32 in, or empty
  ConstTensorView targets;    // [R] int32 in, each in [-1, V); ContractError names the first that is not
  TensorView nll;             // [R] float32 out: nats
  TensorView lse;             // [R] float32 out, saved
  TensorView margin = {};     // [R] float32 out, or empty
};
void cross_entropy_forward(Queue& queue, const CrossEntropyForward& args);

struct CrossEntropyBackward {
  TensorView logits;          // [R, V] A inout: logits in, gradient out
  ConstTensorView bias = {};  // [V] float32 in, or empty
  ConstTensorView targets;    // [R] int32 in
  ConstTensorView lse;        // [R] float32 in
  float scale = 1.0F;         // of the loss: 1 / tokens for a mean
  TensorView dbias = {};      // [V] float32 inout, accumulated; empty without bias
};
void cross_entropy_backward(Queue& queue, const CrossEntropyBackward& args);

}  // namespace segue::kernels
