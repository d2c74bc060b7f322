// Gains by distance of a learned curve for every head (kernels/distance_gain.h), and the curve's gradient.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

namespace segue::oracle {

// f(r; beta)
template <typename Scalar>
Scalar distance_gain(const Scalar& r, const Scalar& beta) {
  using std::exp;
  return (1.0 + exp(beta)) / (1.0 + exp(beta - r));
}

// [N, E]
template <typename Scalar>
std::vector<Scalar> distance_gains(const std::vector<Scalar>& alpha, const std::vector<Scalar>& beta,
                                   size_t distances) {
  std::vector<Scalar> gains;
  for (size_t n = 0; n < alpha.size(); ++n) {
    for (size_t d = 0; d < distances; ++d) gains.push_back(distance_gain(alpha[n] * static_cast<double>(d), beta[n]));
  }
  return gains;
}

struct DistanceGainGradients {
  std::vector<double> alpha, beta;  // [N]
};

// By the quotient rule.
inline DistanceGainGradients distance_gain_gradients(const std::vector<double>& alpha, const std::vector<double>& beta,
                                                     const std::vector<double>& dgain) {
  DistanceGainGradients d{std::vector<double>(alpha.size()), std::vector<double>(alpha.size())};
  const size_t distances = dgain.size() / alpha.size();
  for (size_t n = 0; n < alpha.size(); ++n) {
    for (size_t e = 0; e < distances; ++e) {
      const double distance = static_cast<double>(e);
      const double above = 1.0 + std::exp(beta[n]);
      const double grown = std::exp(beta[n] - alpha[n] * distance);
      const double below = 1.0 + grown;
      d.alpha[n] += dgain[n * distances + e] * distance * above * grown / (below * below);
      d.beta[n] += dgain[n * distances + e] * (std::exp(beta[n]) * below - above * grown) / (below * below);
    }
  }
  return d;
}

}  // namespace segue::oracle
