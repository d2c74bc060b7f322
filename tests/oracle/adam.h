// One step of Adam with decoupled weight decay, straight from the formula.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/adam.h"

namespace segue::oracle {

struct AdamState {
  std::vector<double> p, m, v;
};

inline AdamState adam_step(AdamState state, const std::vector<double>& gradients, const kernels::AdamStep& k,
                           double gradient_scale) {
  const double t = static_cast<double>(k.step);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const double g = gradient_scale * gradients[i];
    state.m[i] = k.beta1 * state.m[i] + (1.0 - k.beta1) * g;
    state.v[i] = k.beta2 * state.v[i] + (1.0 - k.beta2) * g * g;
    const double corrected_m = state.m[i] / (1.0 - std::pow(k.beta1, t));
    const double corrected_v = state.v[i] / (1.0 - std::pow(k.beta2, t));
    state.p[i] *= 1.0 - k.learning_rate * k.weight_decay;
    state.p[i] -= k.learning_rate * corrected_m / (std::sqrt(corrected_v) + k.epsilon);
  }
  return state;
}

}  // namespace segue::oracle
