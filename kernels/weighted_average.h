// What linear attention reads from a state, divided by its sum of weights.
//
// Of a row s of sums, whose last column w is the sum of weights:
//
//   forward   d = w, or where |w| < floor: floor, with w's sign, positive for 0
//             y[h] = s[h] / d
//   backward  ds[h] = dy[h] / d;  dw = -(sum of dy[h] y[h]) / d, 0 where the floor stands for w
//
// Sums differ in size by many powers of ten: nothing overflows or underflows on the way to a result that is
// representable. The sum in dw is taken in double, all else in float32. NaN stays within its row. Deterministic, also
// over thread counts. A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct WeightedAverageForward {
  ConstTensorView sums;  // [R, H+1] A in
  float floor;           // a normal number above 0
  TensorView y;          // [R, H] A out, overwritten; not aliased
};
void weighted_average_forward(Queue& queue, const WeightedAverageForward& args);

struct WeightedAverageBackward {
  ConstTensorView sums;  // as in the forward
  float floor;
  ConstTensorView dy;  // [R, H] A in
  TensorView dsums;    // [R, H+1] A out, overwritten; not aliased
};
void weighted_average_backward(Queue& queue, const WeightedAverageBackward& args);

}  // namespace segue::kernels
