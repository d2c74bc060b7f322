// The update in one pass over the flat arrays, scaled by what clipping left in the GPU's memory.
#include <cmath>

#include "kernels/cuda/clipped_scale.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kMostMoments = 2;

// Updates the moments of one element, given its gradient, and returns the parameter.
__device__ __forceinline__ float updated(const AdamFormula& k, float p, float g, float& m, float& v) {
  m = fmaf(k.rest1, g, k.beta1 * m);
  v = fmaf(k.rest2 * g, g, k.beta2 * v);
  return p * k.decay - k.rate * m / fmaf(sqrtf(v), k.root_scale, k.epsilon);
}

__device__ __forceinline__ float updated(const AdagradFormula& k, float p, float g, float& s, float& /*none*/) {
  s = fmaf(g, g, s);
  return p - k.rate * g / (sqrtf(s) + k.epsilon);
}

__device__ __forceinline__ float updated(const SgdFormula& k, float p, float g, float& /*none*/, float& /*none*/) {
  return fmaf(-k.rate, g, p);
}

__device__ __forceinline__ float updated(const MomentumFormula& k, float p, float g, float& b, float& /*none*/) {
  b = fmaf(k.momentum, b, g);
  return fmaf(-k.rate, b, p);
}

template <typename Formula>
struct UpdateArguments {
  float* parameters;
  const float* gradients;
  float* moments[kMostMoments];
  BFloat16* compute_copy;  // or null
  const double* clipped;   // or null
  int64_t count;
  Formula formula;
};

template <typename Formula, int kWidth>
__global__ void update_kernel(UpdateArguments<Formula> args) {
  const int64_t first = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (first >= args.count || is_left_out(args.clipped)) return;
  const float gradient_scale = clipped_scale(args.clipped);
  float p[kWidth];
  float g[kWidth];
  float moments[kMostMoments][kWidth] = {};
  simt::load(args.parameters + first, p);
  simt::load(args.gradients + first, g);
  for (int m = 0; m < Formula::kMoments; ++m) simt::load(args.moments[m] + first, moments[m]);
  for (int k = 0; k < kWidth; ++k)
    p[k] = updated(args.formula, p[k], gradient_scale * g[k], moments[0][k], moments[1][k]);
  simt::store(args.parameters + first, p);
  for (int m = 0; m < Formula::kMoments; ++m) simt::store(args.moments[m] + first, moments[m]);
  if (args.compute_copy != nullptr) simt::store(args.compute_copy + first, p);
}

template <typename Formula>
void update_all(Queue& queue, const UpdatedBlock& block, const Formula& formula) {
  const ParameterUpdate& update = block.update;
  UpdateArguments<Formula> arguments{.parameters = update.parameters.as<float>(),
                                     .gradients = update.gradients.as<float>(),
                                     .moments = {},
                                     .compute_copy = simt::data_of<BFloat16>(update.compute_copy),
                                     .clipped = simt::data_of<double>(update.clipped),
                                     .count = update.parameters.elements(),
                                     .formula = formula};
  if (arguments.count == 0) return;
  for (int m = 0; m < Formula::kMoments; ++m) arguments.moments[m] = block.moments[static_cast<size_t>(m)].as<float>();
  const bool vectorised = simt::is_vectorisable(
      DType::kFloat32, arguments.count,
      {update.parameters, update.gradients, block.moments[0], block.moments[1], update.compute_copy});
  simt::with_width<float>(vectorised, [&](auto access) {
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), Formula::kName,
                 {.x = simt::divide_up(arguments.count, kThreads * kWidth), .threads = kThreads},
                 update_kernel<Formula, kWidth>, arguments);
  });
}

}  // namespace

void update_adagrad(Queue& queue, const AdagradUpdate& args) { update_all(queue, args.block, args.formula); }
void update_adam(Queue& queue, const AdamUpdate& args) { update_all(queue, args.block, args.formula); }
void update_momentum(Queue& queue, const MomentumUpdate& args) { update_all(queue, args.block, args.formula); }
void update_sgd(Queue& queue, const SgdUpdate& args) { update_all(queue, args.block, args.formula); }

}  // namespace segue::kernels::cuda
