// Biases by distance from a table that has a row for each bucket of distances (Raffel et al. 2020, section 2.1): what
// relative attention adds to scores.
//
// forward   bias[n,e] = table[buckets[e], n]
// backward  dtable[b,n] += sum over e with buckets[e] = b of dbias[n,e]
// Deterministic, also over thread counts.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct BucketBiasForward {
  ConstTensorView buckets;  // [E] int32 in: each distance's row of the table; ContractError names the first without one
  ConstTensorView table;    // [R, N] float32 in
  TensorView bias;          // [N, E] float32 out, overwritten
};
void bucket_bias_forward(Queue& queue, const BucketBiasForward& args);

struct BucketBiasBackward {
  ConstTensorView buckets;  // as in the forward
  ConstTensorView dbias;    // [N, E] float32 in
  TensorView dtable;        // [R, N] float32 inout, accumulated
};
void bucket_bias_backward(Queue& queue, const BucketBiasBackward& args);

}  // namespace segue::kernels
