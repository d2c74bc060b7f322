// The rows of every stream that were used most, in their order.
//
//   usage[b, i] = received[b, 0, i] + ... + received[b, N - 1, i], added in this order
//   y[b, :, :]  = the K rows x[b, i, :] of the largest usage[b, i], i ascending; of equals the first
//
// Copied to the bit; usage that is no number counts as more than any. Without gradients. Deterministic, also over
// thread counts. A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct MostUsedRows {
  ConstTensorView received;  // [B, N, R] float32 in, nothing below 0
  ConstTensorView x;         // [B, R, D] A in
  TensorView usage;          // [B, R] float32 out, overwritten
  TensorView ranked;         // [B, K] int32 scratch
  TensorView y;              // [B, K, D] A out, overwritten; K at most R
};
void most_used_rows(Queue& queue, const MostUsedRows& args);

// Whether row i comes before row j among the most used. A total order, whatever was summed up.
constexpr bool is_used_more(uint32_t usage_i, int64_t i, uint32_t usage_j, int64_t j) {
  return usage_i > usage_j || (usage_i == usage_j && i < j);
}

}  // namespace segue::kernels
