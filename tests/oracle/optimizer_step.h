// Steps of optimizers, straight from their formulas. `m` and `v` are what each keeps from step to step.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/optimizer_step.h"

namespace segue::oracle {

struct OptimizerState {
  std::vector<double> p, m, v;
};

inline OptimizerState adam_step(OptimizerState state, const std::vector<double>& gradients, const kernels::AdamStep& k,
                                double gradient_scale) {
  const double t = static_cast<double>(k.step);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const double g = gradient_scale * gradients[i];
    state.m[i] = k.beta1 * state.m[i] + (1.0 - k.beta1) * g;
    state.v[i] = k.beta2 * state.v[i] + (1.0 - k.beta2) * g * g;
    const double corrected_m = state.m[i] / (1.0 - std::pow(k.beta1, t));
    const double corrected_v = state.v[i] / (1.0 - std::pow(k.beta2, t));
    state.p[i] *= 1.0 - k.update.learning_rate * k.weight_decay;
    state.p[i] -= k.update.learning_rate * corrected_m / (std::sqrt(corrected_v) + k.epsilon);
  }
  return state;
}

inline OptimizerState adagrad_step(OptimizerState state, const std::vector<double>& gradients,
                                   const kernels::AdagradStep& k, double gradient_scale) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const double g = gradient_scale * gradients[i];
    state.m[i] += g * g;
    state.p[i] -= k.update.learning_rate * g / (std::sqrt(state.m[i]) + k.epsilon);
  }
  return state;
}

inline OptimizerState sgd_step(OptimizerState state, const std::vector<double>& gradients, const kernels::SgdStep& k,
                               double gradient_scale) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    state.m[i] = k.momentum * state.m[i] + gradient_scale * gradients[i];
    state.p[i] -= k.update.learning_rate * state.m[i];
  }
  return state;
}

}  // namespace segue::oracle
