// The update in one pass over the flat arrays, scaled by what clipping left in the GPU's memory.
#include <variant>

#include "kernels/cuda/clipped_scale.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kMostMoments = 2;

struct ThisSource;

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
    p[k] = updated<ThisSource>(args.formula, p[k], gradient_scale * g[k], moments[0][k], moments[1][k]);
  simt::store(args.parameters + first, p);
  for (int m = 0; m < Formula::kMoments; ++m) simt::store(args.moments[m] + first, moments[m]);
  if (args.compute_copy != nullptr) simt::store(args.compute_copy + first, p);
}

template <typename Formula>
void update_all(Queue& queue, const ElementUpdate& args, const Formula& formula) {
  const ParameterUpdate& update = args.update;
  UpdateArguments<Formula> arguments{.parameters = update.parameters.as<float>(),
                                     .gradients = update.gradients.as<float>(),
                                     .moments = {},
                                     .compute_copy = simt::data_of<BFloat16>(update.compute_copy),
                                     .clipped = simt::data_of<double>(update.clipped),
                                     .count = update.parameters.elements(),
                                     .formula = formula};
  if (arguments.count == 0) return;
  for (int m = 0; m < Formula::kMoments; ++m) arguments.moments[m] = args.moments[static_cast<size_t>(m)].as<float>();
  const bool vectorised = simt::is_vectorisable(
      DType::kFloat32, arguments.count,
      {update.parameters, update.gradients, args.moments[0], args.moments[1], update.compute_copy});
  simt::with_width<float>(vectorised, [&](auto access) {
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), Formula::kName,
                 {.x = simt::divide_up(arguments.count, kThreads * kWidth), .threads = kThreads},
                 update_kernel<Formula, kWidth>, arguments);
  });
}

}  // namespace

void update_elements(Queue& queue, const ElementUpdate& args) {
  std::visit([&](const auto& formula) { update_all(queue, args, formula); }, args.formula);
}

}  // namespace segue::kernels::cuda
