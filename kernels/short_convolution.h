// A causal convolution over time of each channel by itself, which state models put before queries, keys and values
// (Dao and Gu 2024, Mamba-2; Yang et al. 2025, arXiv:2412.06464).
//
// With S taps, silu(z) = z / (1 + e^-z), and x of token t < 0 being row S-1+t of `before`, 0 without:
//
//   forward   z[b,t,c] = sum over j of taps[c,j] x[b,t-(S-1)+j,c];  y = silu(z)
//             after[b,:,c] = the last S-1 rows of [before[b,:,c] ; x[b,:,c]]
//   backward  dz = dy silu'(z), where z is made anew
//             dx[b,s,c] = sum over j of taps[c,j] dz[b,s+(S-1)-j,c], dz beyond the segment being 0
//             dbefore: the same for s < 0;  to both, of rows that are in `after`, dafter is added
//             dtaps[c,j] += sum over b and t of dz[b,t,c] x[b,t-(S-1)+j,c], rows of `before` included
//
// A text in parts, each with the `after` of the part before, gives the same y to the bit. T may be less than S-1: then
// rows of `before` are still in `after`. NaN stays in its channel.
//
// Deterministic, also over thread counts. A: the dtype of activations, float32 or bfloat16, one for all of a call; sums
// are float32.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

constexpr int64_t kMaxConvolutionTaps = 8;  // S, at most; at least 2

struct ShortConvolutionInputs {
  ConstTensorView x;            // [B, T, C] A in
  ConstTensorView taps;         // [C, S] float32 in; the last is that of the token itself
  ConstTensorView before = {};  // [B, S-1, C] float32 in, or empty: zeros
};

struct ShortConvolutionForward {
  ShortConvolutionInputs inputs;
  TensorView y;      // [B, T, C] A out
  TensorView after;  // [B, S-1, C] float32 out; may be inputs.before itself where nothing goes backward
};
void short_convolution_forward(Queue& queue, const ShortConvolutionForward& args);

struct ShortConvolutionBackward {
  ShortConvolutionInputs inputs;  // as in the forward
  ConstTensorView dy;             // [B, T, C] A in
  ConstTensorView dafter = {};    // [B, S-1, C] float32 in, or empty: zeros
  TensorView dx;                  // [B, T, C] A out, overwritten
  TensorView dtaps;               // [C, S] float32 inout, accumulated
  TensorView dbefore = {};        // [B, S-1, C] float32 out, overwritten, or empty; may be dafter itself
};
void short_convolution_backward(Queue& queue, const ShortConvolutionBackward& args);

}  // namespace segue::kernels
