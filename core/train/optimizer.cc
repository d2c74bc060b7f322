// Norm, clip, update.
#include "core/train/optimizer.h"

#include "base/cuda.h"
#include "kernels/adam.h"

namespace segue {

Optimizer::Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream)
    : config_(config),
      parameters_(parameters),
      stream_(stream),
      first_moment_(DType::kFloat32, parameters.values().shape, stream.device()),
      second_moment_(DType::kFloat32, parameters.values().shape, stream.device()),
      norm_parts_(DType::kFloat64, {kernels::kGradientNormParts}, stream.device()),
      clipped_(DType::kFloat64, {2}, stream.device()) {}

void Optimizer::step(double learning_rate) {
  const cuda::Range range("optimizer");
  kernels::clip_gradients(stream_, {.gradients = parameters_.gradients(),
                                    .clip = config_.clip,
                                    .workspace = norm_parts_.view(),
                                    .outcome = clipped_.view()});
  ++steps_;
  kernels::adam_step(stream_, {.parameters = parameters_.values(),
                               .gradients = parameters_.gradients(),
                               .first_moment = first_moment(),
                               .second_moment = second_moment(),
                               .compute_copy = parameters_.compute_copy(),
                               .clipped = clipped_.view(),
                               .learning_rate = learning_rate,
                               .beta1 = config_.beta1,
                               .beta2 = config_.beta2,
                               .epsilon = config_.epsilon,
                               .weight_decay = config_.weight_decay,
                               .step = steps_});
}

double Optimizer::norm() const {
  stream_.synchronize();
  return *HostTensor(outcome(), stream_.device()).view().as<double>();
}

}  // namespace segue
