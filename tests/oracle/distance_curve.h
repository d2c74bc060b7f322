// Learned curves of distance by their formulas (kernels/distance_curve.h), and their gradients.
#pragma once

#include <cmath>
#include <complex>
#include <cstddef>
#include <vector>

#include "kernels/distance_curve.h"

namespace segue::oracle {

using kernels::CurveFormula;
using kernels::SpanExtents;

// The logarithm of the share of a key's weight that a head keeps, whose span is the share z of the longest.
template <typename Scalar>
Scalar log_of_span_mask(const Scalar& z, double distance, const SpanExtents& span) {
  using std::log;
  const Scalar unclipped = (span.ramp + z * span.longest - distance) / span.ramp;
  if (std::real(unclipped) >= 1.0) return 0.0;
  return std::real(unclipped) > 0.0 ? log(unclipped) : Scalar(kernels::kUnseen);
}

template <typename Scalar>
Scalar distance_curve(CurveFormula formula, const Scalar& alpha, const Scalar& beta, double distance) {
  using std::exp;
  using std::log;
  if (formula == CurveFormula::kLogarithm) return -exp(alpha) * log(1.0 + exp(beta) * distance);
  return (1.0 + exp(beta)) / (1.0 + exp(beta - alpha * distance));
}

// [N, E]; `beta` is not read of spans.
template <typename Scalar>
std::vector<Scalar> distance_curves(CurveFormula formula, const std::vector<Scalar>& alpha,
                                    const std::vector<Scalar>& beta, size_t distances, const SpanExtents& span = {}) {
  std::vector<Scalar> curves;
  for (size_t n = 0; n < alpha.size(); ++n) {
    for (size_t d = 0; d < distances; ++d) {
      const auto distance = static_cast<double>(d);
      curves.push_back(formula == CurveFormula::kSpan ? log_of_span_mask(alpha[n], distance, span)
                                                      : distance_curve(formula, alpha[n], beta[n], distance));
    }
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

// Of spans: the mask's own slope over the mask.
inline double span_slope(double z, double distance, const SpanExtents& span) {
  const double mask = std::exp(log_of_span_mask(z, distance, span));
  return mask > 0.0 && mask < 1.0 ? span.longest / span.ramp / mask : 0.0;
}

struct DistanceCurveGradients {
  std::vector<double> alpha, beta;  // [N]
};

inline DistanceCurveGradients distance_curve_gradients(CurveFormula formula, const std::vector<double>& alpha,
                                                       const std::vector<double>& beta,
                                                       const std::vector<double>& dcurve,
                                                       const SpanExtents& span = {}) {
  DistanceCurveGradients sums{std::vector<double>(alpha.size()), std::vector<double>(alpha.size())};
  const size_t distances = dcurve.size() / alpha.size();
  for (size_t n = 0; n < alpha.size(); ++n) {
    for (size_t d = 0; d < distances; ++d) {
      const auto distance = static_cast<double>(d);
      const CurveSlopes slopes = formula == CurveFormula::kSpan ? CurveSlopes{span_slope(alpha[n], distance, span), 0.0}
                                                                : curve_slopes(formula, alpha[n], beta[n], distance);
      sums.alpha[n] += dcurve[n * distances + d] * slopes.by_alpha;
      sums.beta[n] += dcurve[n * distances + d] * slopes.by_beta;
    }
  }
  return sums;
}

}  // namespace segue::oracle
