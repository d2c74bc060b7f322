// One pass over the arrays of an optimizer.
#include <array>
#include <optional>
#include <variant>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/clipped_scale.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

struct ThisSource;

template <bool kCopy, typename Formula>
void update_all(const Queue& queue, const ElementUpdate& args, const Formula& formula, float gradient_scale) {
  const int64_t count = args.update.parameters.elements();
  float* p = args.update.parameters.as<float>();
  const float* g = args.update.gradients.as<float>();
  BFloat16* copy = data_of<BFloat16>(args.update.compute_copy);
  std::array<float*, 2> moments{};
  for (size_t i = 0; i < Formula::kMoments; ++i) moments[i] = args.moments[i].as<float>();
#pragma omp parallel for simd schedule(static) num_threads(threads_for(queue, count))
  for (int64_t i = 0; i < count; ++i) {
    float first = 0.0F, second = 0.0F;
    if constexpr (Formula::kMoments > 0) first = moments[0][i];
    if constexpr (Formula::kMoments > 1) second = moments[1][i];
    p[i] = updated<ThisSource>(formula, p[i], gradient_scale * g[i], first, second);
    if constexpr (Formula::kMoments > 0) moments[0][i] = first;
    if constexpr (Formula::kMoments > 1) moments[1][i] = second;
    if constexpr (kCopy) store(copy + i, p[i]);
  }
}

}  // namespace

void update_elements(Queue& queue, const ElementUpdate& args) {
  const std::optional<float> scale = clipped_scale(args.update.clipped);
  if (!scale) return;
  const auto update = [&]<typename Formula>(const Formula& formula) {
    const auto pass = args.update.compute_copy.empty() ? update_all<false, Formula> : update_all<true, Formula>;
    pass(queue, args, formula, *scale);
  };
  std::visit(update, args.formula);
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
