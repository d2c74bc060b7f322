// Softmax cross-entropy of rows against a linear layer, and its gradient in the same pass: the logits are never kept.
//
// The layer's classes are those of the table and, behind them, those of the gates (the clusters of an adaptive softmax,
// Grave et al. 2017, arXiv 1609.04309): w [C + G, E] and b [C + G]. For every listed row i:
//
// forward   z[i, c] = x[i] · w[c] + b[c];  lse[i] = log sum_c exp z[i, c];  nll[i] (+)= lse[i] - z[i, columns[i]]
// gradient  dz[i, c] = scale * (exp(z[i, c] - lse[i]) - [c == columns[i]])
//           dx[i] (+)= sum_c dz[i, c] w[c];  dw[c] += sum_i dz[i, c] x[i];  db[c] += sum_i dz[i, c]
//
// Needs memory for some rows of logits at a time: the workspace. Softmax and loss in fp32. Deterministic, also over
// thread counts. No output aliases an input. On a GPU nothing waits for the host: how many rows are listed is read by
// the kernels.
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

// How much the workspace may exceed its minimum, to hold the logits of more rows at a time or more parts of a sum.
constexpr int64_t kScratchBytes = int64_t{64} << 20;

struct LinearCrossEntropyGradient {
  float scale = 1.0F;  // of the loss: 1 / tokens for a mean
  // [R, E] A inout, or empty: no gradient is wanted, and all below are empty. With `accumulate_dx` listed rows are
  // added to and others left alone, otherwise listed rows are overwritten and others become zero.
  TensorView dx = {};
  bool accumulate_dx = false;
  TensorView dtable = {};      // [C, E] float32 inout, accumulated
  TensorView dbias = {};       // [C] float32 inout, accumulated
  TensorView dgates = {};      // [G, E] float32 inout, accumulated; empty without gates
  TensorView dgate_bias = {};  // [G] float32 inout, accumulated; empty without gates
};

struct LinearCrossEntropy {
  ConstTensorView x;               // [R, E] A in
  ConstTensorView table;           // [C, E] A in; at least one class
  ConstTensorView bias;            // [C] float32 in
  ConstTensorView gates = {};      // [G, E] A in, or empty
  ConstTensorView gate_bias = {};  // [G] float32 in, empty without gates
  ConstTensorView columns;         // [R] int32 in: of listed rows each in [0, C + G); ContractError names the first not
  // The listed rows: the first count[0] of `rows`, increasing. Both empty: every row is but those of column -1, which
  // are not scored and whose loss is 0.
  ConstTensorView rows = {};    // [R] int32 in
  ConstTensorView count = {};   // [1] int32 in
  TensorView nll;               // [R] float32 inout: nats; rows that a list leaves out are left alone
  bool accumulate_nll = false;  // listed rows are added to instead of overwritten
  TensorView workspace;         // [at least linear_cross_entropy_workspace] float32 scratch
  int64_t scratch_bytes = kScratchBytes;
  LinearCrossEntropyGradient gradient = {};
};
void linear_cross_entropy(Queue& queue, const LinearCrossEntropy& args);

// The extents that determine the size of the workspace.
struct LinearCrossEntropyExtents {
  int64_t rows = 0;     // R
  int64_t width = 0;    // E
  int64_t classes = 0;  // C + G
  bool listed = false;  // rows are given
  DType activations = DType::kFloat32;
  int64_t scratch_bytes = kScratchBytes;
};
LinearCrossEntropyExtents extents_of(const LinearCrossEntropy& args);

// Elements of the workspace on such a device.
int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& extents, DeviceKind device);

}  // namespace segue::kernels
