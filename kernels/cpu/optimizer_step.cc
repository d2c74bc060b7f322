// One pass over the arrays of an optimizer.
#include <array>
#include <cmath>
#include <optional>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/clipped_scale.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

using Moments = std::array<float*, 2>;

// Updates the moments of element i, given its gradient, and returns the parameter. FMA is written out: what the
// compiler would fuse could differ between the levels, and with it the weights of ranks on unlike processors.
float updated(const AdamFormula& k, float p, float g, const Moments& moments, int64_t i) {
  float& m = moments[0][i];
  float& v = moments[1][i];
  m = std::fma(k.rest1, g, k.beta1 * m);
  v = std::fma(k.rest2 * g, g, k.beta2 * v);
  return std::fma(p, k.decay, -(k.rate * m / std::fma(std::sqrt(v), k.root_scale, k.epsilon)));
}

float updated(const AdagradFormula& k, float p, float g, const Moments& moments, int64_t i) {
  float& s = moments[0][i];
  s = std::fma(g, g, s);
  return p - k.rate * g / (std::sqrt(s) + k.epsilon);
}

float updated(const SgdFormula& k, float p, float g, const Moments& /*moments*/, int64_t /*i*/) {
  return std::fma(-k.rate, g, p);
}

float updated(const MomentumFormula& k, float p, float g, const Moments& moments, int64_t i) {
  float& b = moments[0][i];
  b = std::fma(k.momentum, b, g);
  return std::fma(-k.rate, b, p);
}

template <bool kCopy, typename Formula>
void update_all(const Queue& queue, const UpdatedBlock& block, const Formula& formula, float gradient_scale) {
  const int64_t count = block.update.parameters.elements();
  float* p = block.update.parameters.as<float>();
  const float* g = block.update.gradients.as<float>();
  BFloat16* copy = data_of<BFloat16>(block.update.compute_copy);
  Moments moments{};
  for (size_t i = 0; i < Formula::kMoments; ++i) moments[i] = block.moments[i].as<float>();
#pragma omp parallel for simd schedule(static) num_threads(threads_for(queue, count))
  for (int64_t i = 0; i < count; ++i) {
    p[i] = updated(formula, p[i], gradient_scale * g[i], moments, i);
    if constexpr (kCopy) store(copy + i, p[i]);
  }
}

template <typename Formula>
void step(const Queue& queue, const UpdatedBlock& block, const Formula& formula) {
  const std::optional<float> scale = clipped_scale(block.update.clipped);
  if (!scale) return;
  const auto pass = block.update.compute_copy.empty() ? update_all<false, Formula> : update_all<true, Formula>;
  pass(queue, block, formula, *scale);
}

}  // namespace

void update_adagrad(Queue& queue, const AdagradUpdate& args) { step(queue, args.block, args.formula); }
void update_adam(Queue& queue, const AdamUpdate& args) { step(queue, args.block, args.formula); }
void update_momentum(Queue& queue, const MomentumUpdate& args) { step(queue, args.block, args.formula); }
void update_sgd(Queue& queue, const SgdUpdate& args) { step(queue, args.block, args.formula); }

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
