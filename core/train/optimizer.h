// The optimizer: global-norm clipping and the update of all parameters at once.
#pragma once

#include <cstdint>

#include "core/config/config.h"
#include "core/model/parameters.h"
#include "kernels/stream.h"

namespace segue {

// Adam or AdamW. Owns the two moments, laid out as the flat parameters are.
class Optimizer {
 public:
  Optimizer(const OptimizerConfig& config, Parameters& parameters, kernels::Stream& stream);

  // Queues a step: clips the gradients to `clip` by their global norm (coefficient min(1, clip / (norm + 1e-6))) and
  // updates the parameters and their compute copy. Without effect on them when the norm is not finite, but counted.
  void step(double learning_rate);

  // Of the last step: the norm before clipping and the coefficient, [2] float64 where the stream runs.
  ConstTensorView outcome() const { return clipped_.view(); }
  double norm() const;  // waits

  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  TensorView first_moment() { return first_moment_.view(); }
  TensorView second_moment() { return second_moment_.view(); }

 private:
  OptimizerConfig config_;
  Parameters& parameters_;
  kernels::Stream& stream_;
  OwnedTensor first_moment_;
  OwnedTensor second_moment_;
  OwnedTensor norm_parts_;  // scratch
  OwnedTensor clipped_;     // norm and scale of the last step
  int64_t steps_ = 0;
};

}  // namespace segue
