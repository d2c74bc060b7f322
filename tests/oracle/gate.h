// Gates of a state and their gradients, from the formulas.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/gate.h"

namespace segue::oracle {

using kernels::GateFormula;

// x [R, C], bias [C], rate [C] of formulas that have one -> [R, C]
template <typename Scalar>
std::vector<Scalar> gates(GateFormula formula, const std::vector<Scalar>& x, const std::vector<Scalar>& bias,
                          const std::vector<Scalar>& rate) {
  std::vector<Scalar> gates;
  for (size_t e = 0; e < x.size(); ++e) {
    const size_t c = e % bias.size();
    const Scalar shifted = x[e] + bias[c];
    if (formula == GateFormula::kShare) {
      gates.push_back(1.0 / (1.0 + std::exp(-shifted)));
    } else {
      const Scalar step = std::log(1.0 + std::exp(shifted));
      const Scalar value = rate.empty() ? step : -std::exp(rate[c]) * step;
      gates.push_back(formula == GateFormula::kRest ? 1.0 - std::exp(value) : value);
    }
  }
  return gates;
}

struct GateGradients {
  std::vector<double> x, bias, rate;
};
inline GateGradients gate_gradients(GateFormula formula, const std::vector<double>& x, const std::vector<double>& bias,
                                    const std::vector<double>& rate, const std::vector<double>& dgates) {
  const std::vector<double> gate = gates(formula, x, bias, rate);
  GateGradients to{.x = {}, .bias = std::vector<double>(bias.size()), .rate = std::vector<double>(rate.size())};
  for (size_t e = 0; e < x.size(); ++e) {
    const size_t c = e % bias.size();
    const double share = 1.0 / (1.0 + std::exp(-x[e] - bias[c]));
    const double slope = formula == GateFormula::kShare ? share * (1.0 - share) : share;
    // Of the decay that a gate is, or leaves.
    const bool is_rest = formula == GateFormula::kRest;
    const double decay = is_rest ? -std::exp(rate[c]) * std::log(1.0 + std::exp(x[e] + bias[c])) : gate[e];
    const double ddecay = is_rest ? -dgates[e] * std::exp(decay) : dgates[e];
    to.x.push_back(rate.empty() ? dgates[e] * slope : -ddecay * std::exp(rate[c]) * slope);
    to.bias[c] += to.x.back();
    if (!rate.empty()) to.rate[c] += ddecay * decay;
  }
  return to;
}

}  // namespace segue::oracle
