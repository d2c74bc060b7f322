// Gains by distance from two numbers of each head (DA-Transformer, Wu et al. 2021, section 3.2): what relative
// attention multiplies rectified scores by.
//
// forward   gain[n,d] = f(alpha[n] d; beta[n]),  f(r; b) = (1 + e^b) / (1 + e^(b - r))
//           f(0) = 1; with r, f goes to 1 + e^b, against it to 0
// backward  dalpha[n] += sum over d of dgain[n,d] f d sigmoid(b - r)
//           dbeta[n] += sum over d of dgain[n,d] f (sigmoid(b) - sigmoid(b - r))
// A gain above e^88 counts as e^88: all are finite, whatever alpha and beta. Each is computed in double and rounded
// once. Deterministic, also over thread counts.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct DistanceGainForward {
  ConstTensorView alpha;  // [N] float32 in
  ConstTensorView beta;   // [N] float32 in
  TensorView gain;        // [N, E] float32 out, overwritten
};
void distance_gain_forward(Queue& queue, const DistanceGainForward& args);

struct DistanceGainBackward {
  ConstTensorView alpha;  // as in the forward
  ConstTensorView beta;
  ConstTensorView dgain;  // [N, E] float32 in
  TensorView dalpha;      // [N] float32 inout, accumulated
  TensorView dbeta;       // [N] float32 inout, accumulated
};
void distance_gain_backward(Queue& queue, const DistanceGainBackward& args);

}  // namespace segue::kernels
