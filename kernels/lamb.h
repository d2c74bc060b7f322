// LAMB (You et al. 2020) as NVIDIA's Transformer-XL is trained with it: without bias correction, and with one trust
// ratio for every tensor of a flat block of parameters. Three calls make a step t, with g' = scale * g:
//
// moments   m = beta1 m + (1 - beta1) g';  v = beta2 v + (1 - beta2) g'²
//           u = m / (sqrt(v) + epsilon) + weight_decay * p
//           sums[c] = (sum of p², sum of u²) over chunk c, in double
// norms     squares[n] = the sums over the chunks of tensor n, in their order
// step      trust[n] = |p| / (|u| + epsilon), with |p| = min(sqrt(squares[n, 0]), 10); 1 when |p| or |u| is 0
//           p = p - lr * trust * u
// Whoever holds only some of the chunks sums `squares` over all who hold others. With a norm of the gradients that is
// not finite, parameters and moments stay as they are. Deterministic, also over thread counts.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

constexpr double kLargestTrustedNorm = 10.0;

// Elements of one tensor that lie together: `first` among the parameters, `own` among gradients and moments.
struct LambChunk {
  int64_t tensor = 0;
  int64_t first = 0;
  int64_t own = 0;
  int64_t count = 0;
};
constexpr int64_t kLambChunkFields = 4;  // a table of chunks is int64 [C, kLambChunkFields], rows as the struct

struct LambMoments {
  ConstTensorView parameters;    // [P] float32 in: p
  ConstTensorView gradients;     // [S] float32 in: g
  TensorView first_moment;       // [S] float32 inout: m
  TensorView second_moment;      // [S] float32 inout: v
  ConstTensorView chunks;        // [C, kLambChunkFields] int64 in; they do not overlap
  TensorView sums;               // [C, 2] float64 out
  ConstTensorView clipped = {};  // [2] float64 in: the outcome of clip_gradients; or empty: scale 1
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.0;
};
void lamb_moments(Queue& queue, const LambMoments& args);

struct LambNorms {
  ConstTensorView sums;    // [C, 2] float64 in
  ConstTensorView starts;  // [N + 1] int64 in: the chunks of tensor n are starts[n] .. starts[n + 1] - 1
  TensorView squares;      // [N, 2] float64 out
};
void lamb_norms(Queue& queue, const LambNorms& args);

struct LambStep {
  TensorView parameters;          // [P] float32 inout: p
  ConstTensorView first_moment;   // [S] float32 in: m
  ConstTensorView second_moment;  // [S] float32 in: v
  ConstTensorView chunks;         // [C, kLambChunkFields] int64 in
  ConstTensorView squares;        // [N, 2] float64 in
  TensorView compute_copy = {};   // [P] bfloat16 out: the parameters of the chunks rounded; or empty
  ConstTensorView clipped = {};   // [2] float64 in, as above
  double learning_rate = 0.0;     // lr
  double epsilon = 1e-6;
  double weight_decay = 0.0;
};
void lamb_step(Queue& queue, const LambStep& args);

}  // namespace segue::kernels
