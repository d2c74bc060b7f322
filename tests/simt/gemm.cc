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

float product(const Gemm& args, int64_t row, int64_t column) {
  const int64_t depth = args.a.shape[args.transpose_a ? 0 : 1];
  float sum = 0.0F;
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t a = args.transpose_a ? i * args.a.shape[1] + row : row * args.a.shape[1] + i;
    const int64_t b = args.transpose_b ? column * args.b.shape[1] + i : i * args.b.shape[1] + column;
    sum += load(args.a, a) * load(args.b, b);
  }
  return sum;
}

void multiply(const Gemm& args) {
  for (int64_t row = 0; row < args.c.shape[0]; ++row) {
    for (int64_t column = 0; column < args.c.shape[1]; ++column) {
      const int64_t element = row * args.c.shape[1] + column;
      float value = product(args, row, column);
      if (args.accumulate) value += load(args.c, element);
      if (!args.bias.empty()) value += load(args.bias, column);
      if (args.relu) value = value < 0.0F ? 0.0F : value;  // NaN passes, as with cuBLASLt
      store(args.c, element, value);
    }
  }
}

}  // namespace

void gemm(Stream& stream, const Gemm& args) {
  segue::cuda::submit(stream.cuda(), [args] { multiply(args); });
}

}  // namespace segue::kernels::cuda
