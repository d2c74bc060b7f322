// Products on the emulated GPU: plain loops with float32 sums.
#include "kernels/cuda/gemm.h"

#include <algorithm>

#include "base/bfloat16.h"
#include "tests/simt/queue_work.h"

namespace segue::kernels::cuda {

namespace {

float load(ConstTensorView view, int64_t element) {
  if (view.dtype == DType::kFloat32) return view.as<float>()[element];
  return static_cast<float>(view.as<BFloat16>()[element]);
}

void store(TensorView view, int64_t element, float value) {
  if (view.dtype == DType::kFloat32) {
    view.as<float>()[element] = value;
  } else {
    view.as<BFloat16>()[element] = BFloat16(value);
  }
}

// From one stored row to the next.
int64_t stride_of(ConstTensorView view, int64_t stride) { return stride == 0 ? view.shape[1] : stride; }

float product(const Gemm& args, int64_t row, int64_t column) {
  const int64_t depth = args.a.shape[args.transpose_a ? 0 : 1];
  const int64_t a_stride = stride_of(args.a, args.a_stride);
  const int64_t b_stride = stride_of(args.b, args.b_stride);
  float sum = 0.0F;
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t a = args.transpose_a ? i * a_stride + row : row * a_stride + i;
    const int64_t b = args.transpose_b ? column * b_stride + i : i * b_stride + column;
    sum += load(args.a, a) * load(args.b, b);
  }
  return sum;
}

void multiply(const Gemm& args) {
  for (int64_t row = 0; row < args.c.shape[0]; ++row) {
    for (int64_t column = 0; column < args.c.shape[1]; ++column) {
      const int64_t element = row * stride_of(args.c, args.c_stride) + column;
      float value = product(args, row, column);
      if (args.accumulate) value += load(args.c, element);
      if (!args.bias.empty()) value += load(args.bias, column);
      if (args.relu) value = value < 0.0F ? 0.0F : value;  // NaN passes, as with cuBLASLt
      store(args.c, element, value);
    }
  }
}

}  // namespace

void gemm(Queue& queue, const Gemm& args) {
  segue::cuda::submit(queue.cuda(), [args] { multiply(args); });
}

}  // namespace segue::kernels::cuda
