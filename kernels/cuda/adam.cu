// The norm in two passes of a fixed order; the update in one pass over the flat arrays, scaled by what the norm left in
// the GPU's memory.
#include <cmath>

#include "kernels/cuda/adam.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kNormThreads = 512;
static_assert(kGradientNormParts == kThreads, "the second pass takes one part with each thread");

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
  for (int64_t i = begin + int64_t{simt::thread()} * kWidth; i < end; i += int64_t{kNormThreads} * kWidth) {
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

__global__ void gradient_clip_kernel(ClipArguments args) {
  const double norm = sqrt(simt::reduce_block(args.parts[simt::thread()], 0.0, simt::Sum()));
  if (simt::thread() != 0) return;
  const double scale = args.clip / (norm + 1e-6);
  args.outcome[0] = norm;
  args.outcome[1] = args.clip > 0.0 && scale < 1.0 ? scale : 1.0;
}

// The scalars of a step, derived in double on the host.
struct StepArguments {
  float* parameters;
  const float* gradients;
  float* first_moment;
  float* second_moment;
  BFloat16* compute_copy;  // or null
  const double* clipped;   // or null
  int64_t count;
  float beta1, rest1, beta2, rest2;
  float decay;
  float rate;        // lr / (1 - beta1^t)
  float root_scale;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
};

template <int kWidth>
__global__ void adam_step_kernel(StepArguments args) {
  const int64_t first = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (first >= args.count || (args.clipped != nullptr && !std::isfinite(args.clipped[0]))) return;
  const float gradient_scale = args.clipped == nullptr ? 1.0F : static_cast<float>(args.clipped[1]);
  float p[kWidth];
  float g[kWidth];
  float m[kWidth];
  float v[kWidth];
  simt::load(args.parameters + first, p);
  simt::load(args.gradients + first, g);
  simt::load(args.first_moment + first, m);
  simt::load(args.second_moment + first, v);
  for (int k = 0; k < kWidth; ++k) {
    const float gradient = gradient_scale * g[k];
    m[k] = fmaf(args.rest1, gradient, args.beta1 * m[k]);
    v[k] = fmaf(args.rest2 * gradient, gradient, args.beta2 * v[k]);
    p[k] = p[k] * args.decay - args.rate * m[k] / fmaf(sqrtf(v[k]), args.root_scale, args.epsilon);
  }
  simt::store(args.parameters + first, p);
  simt::store(args.first_moment + first, m);
  simt::store(args.second_moment + first, v);
  if (args.compute_copy != nullptr) simt::store(args.compute_copy + first, p);
}

StepArguments arguments_of(const AdamStep& args) {
  const double step = static_cast<double>(args.step);
  return {.parameters = args.parameters.as<float>(),
          .gradients = args.gradients.as<float>(),
          .first_moment = args.first_moment.as<float>(),
          .second_moment = args.second_moment.as<float>(),
          .compute_copy = simt::data_of<BFloat16>(args.compute_copy),
          .clipped = simt::data_of<double>(args.clipped),
          .count = args.parameters.elements(),
          .beta1 = static_cast<float>(args.beta1),
          .rest1 = static_cast<float>(1.0 - args.beta1),
          .beta2 = static_cast<float>(args.beta2),
          .rest2 = static_cast<float>(1.0 - args.beta2),
          .decay = static_cast<float>(1.0 - args.learning_rate * args.weight_decay),
          .rate = static_cast<float>(args.learning_rate / (1.0 - std::pow(args.beta1, step))),
          .root_scale = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(args.beta2, step))),
          .epsilon = static_cast<float>(args.epsilon)};
}

}  // namespace

void gradient_norm(Stream& stream, const GradientNorm& args) {
  const int64_t count = args.gradients.elements();
  auto* parts = args.parts.as<double>();
  simt::with_width<float>(simt::is_vectorisable(DType::kFloat32, count, {args.gradients}), [&](auto access) {
    constexpr int kWidth = decltype(access)::kWidth;
    const int64_t part_size = simt::divide_up(count, int64_t{kGradientNormParts} * kWidth) * kWidth;
    simt::launch(stream.cuda(), "gradient_norm_parts", {.x = kGradientNormParts, .threads = kNormThreads},
                 gradient_norm_parts_kernel<kWidth>,
                 NormArguments{args.gradients.as<float>(), parts, count, part_size});
  });
}

void clip_gradients(Stream& stream, const GradientClip& args) {
  simt::launch(stream.cuda(), "gradient_clip", {.threads = kThreads}, gradient_clip_kernel,
               ClipArguments{args.parts.as<double>(), args.clip, args.outcome.as<double>()});
}

void adam_step(Stream& stream, const AdamStep& args) {
  const StepArguments arguments = arguments_of(args);
  if (arguments.count == 0) return;
  const bool vectorised = simt::is_vectorisable(
      DType::kFloat32, arguments.count,
      {args.parameters, args.gradients, args.first_moment, args.second_moment, args.compute_copy});
  simt::with_width<float>(vectorised, [&](auto access) {
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(stream.cuda(), "adam_step",
                 {.x = simt::divide_up(arguments.count, kThreads * kWidth), .threads = kThreads},
                 adam_step_kernel<kWidth>, arguments);
  });
}

}  // namespace segue::kernels::cuda
