// Dropout with a mask that is a pure function of (seed, step, site, global element).
//
// forward   y[e] = x[e] * m[e] (or y +=);  m[e] = 1/(1-p) where the element's random_bits >= p * 2^32, else 0
// backward  dx[e] = dy[e] * m[e] (or dx +=); nothing is saved, the mask is drawn again.
//
// The bits are random_bits(random, first_element + e). `first_element` is the index of the view's first element in the
// tensor of the whole run (all streams of all ranks), so that the mask does not depend on how streams are spread over
// ranks or chunks. p = 0 is the identity, p = 1 gives zeros. Deterministic.
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct Dropout {
  float p = 0.0F;
  RandomSequence random = {};
  uint64_t first_element = 0;
  const uint64_t* step = nullptr;  // on a GPU, where an operation may be replayed: when given, added to random.step
};

struct DropoutForward {
  ConstTensorView x;  // [any] A in
  Dropout dropout = {};
  TensorView y;             // as x, out; may be x itself unless accumulating
  bool accumulate = false;  // y += instead of y =
};
void dropout_forward(Queue& queue, const DropoutForward& args);

struct DropoutBackward {
  ConstTensorView dy;  // [any] A in
  Dropout dropout = {};
  TensorView dx;            // as dy, out; may be dy itself unless accumulating
  bool accumulate = false;  // dx += instead of dx =
};
void dropout_backward(Queue& queue, const DropoutBackward& args);

}  // namespace segue::kernels
