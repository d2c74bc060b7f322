// Learned curves of distance by their formulas (kernels/distance_curve.h), and their gradients.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "kernels/distance_curve.h"

namespace segue::oracle {

using kernels::CurveFormula;

template <typename Scalar>
Scalar distance_curve(CurveFormula formula, const Scalar& alpha, const Scalar& beta, double distance) {
  using std::exp;
  using std::log;
  if (formula == CurveFormula::kLogarithm) return -exp(alpha) * log(1.0 + exp(beta) * distance);
  return (1.0 + exp(beta)) / (1.0 + exp(beta - alpha * distance));
}

// [N, E]
template <typename Scalar>
std::vector<Scalar> distance_curves(CurveFormula formula, const std::vector<Scalar>& alpha,
                                    const std::vector<Scalar>& beta, size_t distances) {
  std::vector<Scalar> curves;
  for (size_t n = 0; n < alpha.size(); ++n) {
    for (size_t d = 0; d < distances; ++d)
      curves.push_back(distance_curve(formula, alpha[n], beta[n], static_cast<double>(d)));
  }
  return curves;
}

struct CurveSlopes {
  double by_alpha, by_beta;
};

// Of the sigmoid by the quotient rule.
inline CurveSlopes curve_slopes(CurveFormula formula, double alpha, double beta, double distance) {
  if (formula == CurveFormula::kLogarithm) {
    const double inside = 1.0 + std::exp(beta) * distance;
    return {-std::exp(alpha) * std::log(inside), -std::exp(alpha + beta) * distance / inside};
  }
  const double above = 1.0 + std::exp(beta);
  const double grown = std::exp(beta - alpha * distance);
  const double below = 1.0 + grown;
  return {distance * above * grown / (below * below), (std::exp(beta) * below - above * grown) / (below * below)};
}

struct DistanceCurveGradients {
  std::vector<double> alpha, beta;  // [N]
};

inline DistanceCurveGradients distance_curve_gradients(CurveFormula formula, const std::vector<double>& alpha,
                                                       const std::vector<double>& beta,
                                                       const std::vector<double>& dcurve) {
  DistanceCurveGradients sums{std::vector<double>(alpha.size()), std::vector<double>(alpha.size())};
  const size_t distances = dcurve.size() / alpha.size();
  for (size_t n = 0; n < alpha.size(); ++n) {
    for (size_t d = 0; d < distances; ++d) {
      const CurveSlopes slopes = curve_slopes(formula, alpha[n], beta[n], static_cast<double>(d));
      sums.alpha[n] += dcurve[n * distances + d] * slopes.by_alpha;
      sums.beta[n] += dcurve[n * distances + d] * slopes.by_beta;
    }
  }
  return sums;
}

}  // namespace segue::oracle
