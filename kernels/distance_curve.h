// A learned curve of distance for every head, from one or two numbers of it: what relative attention multiplies
// rectified scores by, or adds to scores.
//
// forward   curve[n,d] = f(d; alpha[n], beta[n])
// backward  dalpha[n] += sum over d of dcurve[n,d] df/dalpha
//           dbeta[n] += sum over d of dcurve[n,d] df/dbeta
//
// kSigmoid (DA-Transformer, Wu et al. 2021, section 3.2), with s(x) = 1 / (1 + e^-x):
//   f = (1 + e^beta) / (1 + e^(beta - alpha d));  f(0) = 1; with alpha d, f goes to 1 + e^beta, against it to 0
//   df/dalpha = f d s(beta - alpha d);  df/dbeta = f (s(beta) - s(beta - alpha d))
//   A value above e^88 counts as e^88.
//
// kLogarithm (the logarithmic variant of KERPLE, Chi et al. 2022), with r1 = e^alpha and r2 = e^beta:
//   f = -r1 log(1 + r2 d);  f(0) = 0
//   df/dalpha = f;  df/dbeta = -r1 r2 d / (1 + r2 d)
//   r1 and r2 above e^64 count as e^64.
//
// kSpan (adaptive attention span, Sukhbaatar et al. 2019), with z = alpha, the share of the longest span S that a head
// sees, and the ramp R behind it; without beta:
//   f = log m,  m = (R + z S - d) / R, but at most 1; kUnseen where that is 0 or less, so that e^f is 0
//   df/dalpha = S / (R + z S - d) on the ramp, 0 < m < 1; elsewhere 0
//
// Each value is computed in double and rounded once, and is finite whatever finite alpha and beta; from NaN comes NaN.
// Deterministic, also over thread counts.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

enum class CurveFormula : uint8_t { kSigmoid, kLogarithm, kSpan };

inline constexpr double kUnseen = -1e9;  // added to any score, nothing remains of its weight

// In tokens, both above 0.
struct SpanExtents {
  double longest = 0.0;  // S
  double ramp = 0.0;     // R
};

struct DistanceCurveForward {
  CurveFormula formula;
  ConstTensorView alpha;  // [N] float32 in
  ConstTensorView beta;   // [N] float32 in; empty with kSpan
  TensorView curve;       // [N, E] float32 out, overwritten
  SpanExtents span = {};  // of kSpan alone
};
void distance_curve_forward(Queue& queue, const DistanceCurveForward& args);

struct DistanceCurveBackward {
  CurveFormula formula;
  ConstTensorView alpha;  // as in the forward
  ConstTensorView beta;
  ConstTensorView dcurve;  // [N, E] float32 in
  TensorView dalpha;       // [N] float32 inout, accumulated
  TensorView dbeta;        // [N] float32 inout, accumulated; empty with kSpan
  SpanExtents span = {};
};
void distance_curve_backward(Queue& queue, const DistanceCurveBackward& args);

}  // namespace segue::kernels
