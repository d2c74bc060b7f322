// Norm, clip, update.
#include "core/train/optimizer.h"

#include <cmath>

#include "kernels/adam.h"

namespace segue {

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream)
    : config_(config),
      parameters_(parameters),
      stream_(stream),
      first_moment_(DType::kFloat32, parameters.values().shape),
      second_moment_(DType::kFloat32, parameters.values().shape),
      norm_parts_(DType::kFloat64, {kernels::kGradientNormParts}),
      clipped_(DType::kFloat64, {2}) {}

double Optimizer::step(double learning_rate) {
  kernels::clip_gradients(stream_, {.gradients = parameters_.gradients(),
                                    .clip = config_.clip,
                                    .workspace = norm_parts_.view(),
                                    .outcome = clipped_.view()});
  const double norm = clipped_.as<double>()[0];
  if (!std::isfinite(norm)) return norm;
  ++steps_;
  kernels::adam_step(stream_, {.parameters = parameters_.values(),
                               .gradients = parameters_.gradients(),
                               .first_moment = first_moment(),
                               .second_moment = second_moment(),
                               .clipped = clipped_.view(),
                               .learning_rate = learning_rate,
                               .beta1 = config_.beta1,
                               .beta2 = config_.beta2,
                               .epsilon = config_.epsilon,
                               .weight_decay = config_.weight_decay,
                               .step = steps_});
  return norm;
}

}  // namespace segue
