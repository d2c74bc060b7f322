// One step of LAMB for one tensor, straight from the formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/oracle/optimizer_step.h"

namespace segue::oracle {

struct LambConstants {
  double learning_rate, beta1, beta2, epsilon, weight_decay;
};

inline double norm(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

inline OptimizerState lamb_step(OptimizerState state, const std::vector<double>& gradients, const LambConstants& k,
                                double gradient_scale) {
  std::vector<double> u(gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const double g = gradient_scale * gradients[i];
    state.m[i] = k.beta1 * state.m[i] + (1.0 - k.beta1) * g;
    state.v[i] = k.beta2 * state.v[i] + (1.0 - k.beta2) * g * g;
    u[i] = state.m[i] / (std::sqrt(state.v[i]) + k.epsilon) + k.weight_decay * state.p[i];
  }
  const double p_norm = std::clamp(norm(state.p), 0.0, 10.0);
  const double u_norm = norm(u);
  const double trust = p_norm == 0.0 || u_norm == 0.0 ? 1.0 : p_norm / (u_norm + k.epsilon);
  for (size_t i = 0; i < u.size(); ++i) state.p[i] -= k.learning_rate * trust * u[i];
  return state;
}

}  // namespace segue::oracle
