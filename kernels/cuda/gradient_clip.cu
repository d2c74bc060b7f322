// The norm in two passes of a fixed order, left in the GPU's memory.
#include <cmath>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kPartThreads = 512;

struct NormArguments {
  const float* gradients;
  double* parts;
  int64_t count;
  int64_t part_size;
};

template <int kWidth>
__global__ void gradient_norm_parts_kernel(NormArguments args) {
  const int64_t begin = simt::block() * args.part_size;
  const int64_t end = begin + args.part_size < args.count ? begin + args.part_size : args.count;
  double sum = 0.0;
  for (int64_t i = begin + int64_t{simt::thread()} * kWidth; i < end; i += int64_t{kPartThreads} * kWidth) {
    float g[kWidth];
    simt::load(args.gradients + i, g);
    for (int k = 0; k < kWidth; ++k) sum += static_cast<double>(g[k]) * static_cast<double>(g[k]);
  }
  sum = simt::reduce_block(sum, 0.0, simt::Sum());
  if (simt::thread() == 0) args.parts[simt::block()] = sum;
}

struct ClipArguments {
  const double* parts;
  double clip;
  double* outcome;
};

// One part with each thread.
__global__ void gradient_clip_kernel(ClipArguments args) {
  const double norm = sqrt(simt::reduce_block(args.parts[simt::thread()], 0.0, simt::Sum()));
  if (simt::thread() != 0) return;
  const double scale = args.clip / (norm + 1e-6);
  args.outcome[0] = norm;
  args.outcome[1] = args.clip > 0.0 && scale < 1.0 ? scale : 1.0;
}

}  // namespace

void gradient_norm(Queue& queue, const GradientNorm& args) {
  const int64_t count = args.gradients.elements();
  auto* parts = args.parts.as<double>();
  simt::with_width<float>(simt::is_vectorisable(DType::kFloat32, count, {args.gradients}), [&](auto access) {
    constexpr int kWidth = decltype(access)::kWidth;
    const int64_t part_size = simt::divide_up(count, int64_t{kGradientNormParts} * kWidth) * kWidth;
    simt::launch(queue.cuda(), "gradient_norm_parts", {.x = kGradientNormParts, .threads = kPartThreads},
                 gradient_norm_parts_kernel<kWidth>,
                 NormArguments{args.gradients.as<float>(), parts, count, part_size});
  });
}

void clip_gradients(Queue& queue, const GradientClip& args) {
  simt::launch(queue.cuda(), "gradient_clip", {.threads = kGradientNormParts}, gradient_clip_kernel,
               ClipArguments{args.parts.as<double>(), args.clip, args.outcome.as<double>()});
}

}  // namespace segue::kernels::cuda
