// Matrix products: c = op(a) · op(b), or c += op(a) · op(b); op transposes or not.
//
// Gradients are matrix products themselves: for y = x · Wᵀ, dx = dy · W and dW += dyᵀ · x.
// fp32 accumulation. Deterministic for a given number of threads.
// A: the dtype of activations, float32 or bfloat16, one for all of a call.
#pragma once

#include "base/device.h"
#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct Matmul {
  ConstTensorView a;  // [m, k] A in, or [k, m] when transpose_a
  bool transpose_a = false;
  ConstTensorView b;  // [k, n] A in, or [n, k] when transpose_b
  bool transpose_b = false;
  TensorView c;  // [m, n] A or float32 out; aliases neither a nor b
  bool accumulate = false;
};
void matmul(Queue& queue, const Matmul& args);

// Whether the device has products of bfloat16. A processor without refuses them, or takes many times longer for them
// than for float32.
bool has_bfloat16_products(Device device);

}  // namespace segue::kernels
