// Adaptive computation time (Graves 2016, arXiv:1603.08983), by token as in the Universal Transformer (Dehghani et al.
// 2019, arXiv:1807.03819): one pass through a layer that all passes share.
//
// A token's passes so far weigh t, 0 at first; t = 1 says that it has halted. With p = 1 / (1 + e^-(logit + bias)):
//
//   halts    t + p > 1 - epsilon, or the pass is the last
//   weight   0 where t = 1;  1 - t where it halts in this pass, the remainder;  p otherwise
//   new t    1 where t = 1 or it halts;  t + p otherwise
//   passes   one more where t < 1
//   sum      += weight x
//   y        the token's row before the pass where t = 1, x otherwise
//
// So the weights of a token's passes sum to 1, also where only the last pass makes it halt. When a token halts is not
// differentiated, and neither is its number of passes; its remainder is. NaN stays with its token. Deterministic, also
// over thread counts. A: the dtype of activations, float32 or bfloat16, one for all of a call; arithmetic is in
// float32.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct HaltingInputs {
  ConstTensorView logits;       // [R] A
  ConstTensorView bias;         // [1] float32
  ConstTensorView totals = {};  // [R] float32: t; empty in the first pass
  float epsilon = 0.01F;        // above 0, below 1
  bool is_last = false;
};

struct HaltingForward {
  HaltingInputs in;
  TensorView weights;          // [R] float32 out, overwritten
  TensorView new_totals = {};  // [R] float32 out, overwritten; empty in the last pass
  TensorView passes;           // [R] float32 inout, accumulated; overwritten in the first pass
};
void halting_forward(Queue& queue, const HaltingForward& args);

// Beside the gradients of what it is given: each token's remainder costs `ponder`.
struct HaltingBackward {
  HaltingInputs in;                  // as in the forward
  ConstTensorView dweights;          // [R] float32 in
  ConstTensorView dnew_totals = {};  // [R] float32 in; empty in the last pass
  float ponder = 0.0F;
  TensorView dlogits;       // [R] A out, overwritten; not aliased
  TensorView dtotals = {};  // [R] float32 out, overwritten; empty in the first pass
  TensorView dbias = {};    // [1] float32 inout, accumulated; empty where it is not learned
};
void halting_backward(Queue& queue, const HaltingBackward& args);

struct HaltedRowsForward {
  ConstTensorView x;            // [R, D] A: rows after the pass
  ConstTensorView before = {};  // [R, D] A: and before it; empty in the first pass
  ConstTensorView totals = {};  // [R] float32: t before the pass; empty in the first
  ConstTensorView weights;      // [R] float32
  TensorView sum;               // [R, D] float32 inout, accumulated; overwritten in the first pass
  TensorView y = {};            // [R, D] A out, overwritten; empty in the last pass, and in the first, where it is x
};
void halted_rows_forward(Queue& queue, const HaltedRowsForward& args);

struct HaltedRowsBackward {
  ConstTensorView x;            // as in the forward
  ConstTensorView totals = {};  // as in the forward
  ConstTensorView weights;      // as in the forward
  ConstTensorView dsum;         // [R, D] float32 in: of the sum over all passes
  ConstTensorView dy = {};      // [R, D] A in; empty where there is no y
  TensorView dx;                // [R, D] A inout: overwritten, or where others have added to it, added to
  bool accumulate_dx = false;
  TensorView dbefore = {};  // [R, D] A out, overwritten; empty where there is no dy
  bool accumulate_dbefore = false;
  TensorView dweights;  // [R] float32 out, overwritten
};
void halted_rows_backward(Queue& queue, const HaltedRowsBackward& args);

}  // namespace segue::kernels
