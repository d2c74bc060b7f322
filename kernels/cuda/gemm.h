// Matrix products on a GPU by cuBLASLt: c = op(a) · op(b), with what may be fused behind it.
//
// float32 operands are multiplied in full float32 (no TF32), bfloat16 ones on tensor cores with float32 sums. The way a
// product is computed is chosen once for its extents, types and alignment and kept, so that equal calls give equal
// bits.
//
// Two files define it: kernels/cuda/gemm.cc, and tests/simt/gemm.cc with plain loops for the emulated GPU.
#pragma once

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels::cuda {

struct Gemm {
  ConstTensorView a;  // [m, k] A, or [k, m] when transpose_a
  bool transpose_a = false;
  ConstTensorView b;  // [k, n] A, or [n, k] when transpose_b
  bool transpose_b = false;
  TensorView c;               // [m, n] A or float32
  bool accumulate = false;    // c += instead of c =
  ConstTensorView bias = {};  // [n] of c's dtype, added to every row, or empty; not when accumulating
  bool relu = false;          // c = max(0, ...), after the bias; not when accumulating
  // Elements from one stored row to the next, for blocks of larger matrices; 0: the rows lie side by side.
  int64_t a_stride = 0;
  int64_t b_stride = 0;
  int64_t c_stride = 0;
};

// Extents and types as said above are the caller's duty, and so is memory that does not overlap. With k = 0 the product
// is zero; neither bias nor relu may then be wanted. Throws DeviceError when cuBLASLt refuses.
void gemm(Queue& queue, const Gemm& args);

}  // namespace segue::kernels::cuda
