// Norm, clip, update.
#include "core/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "kernels/adam.h"

namespace segue {

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream)
    : config_(config),
      parameters_(parameters),
      stream_(stream),
      first_moment_(DType::kFloat32, parameters.values().shape),
      second_moment_(DType::kFloat32, parameters.values().shape) {}

double Optimizer::step(double learning_rate) {
  const double norm = kernels::gradient_norm(stream_, parameters_.gradients());
  if (!std::isfinite(norm)) return norm;
  const double scale = config_.clip > 0.0 ? std::min(1.0, config_.clip / (norm + 1e-6)) : 1.0;
  ++steps_;
  kernels::adam_step(stream_, {.parameters = parameters_.values(),
                               .gradients = parameters_.gradients(),
                               .first_moment = first_moment(),
                               .second_moment = second_moment(),
                               .learning_rate = learning_rate,
                               .beta1 = config_.beta1,
                               .beta2 = config_.beta2,
                               .epsilon = config_.epsilon,
                               .weight_decay = config_.weight_decay,
                               .gradient_scale = scale,
                               .step = steps_});
  return norm;
}

}  // namespace segue
