// The curves of kernels/distance_curve.h, each by its formula: those of one head, in double, for processors and for
// GPUs. No exponential is of a number above 88.
//
// `Source` is a type of the source that computes them. So what a source compiles stays its own: equal inline functions
// are merged to one by the linker, whatever processor each of them was compiled for.
#pragma once

#include <cmath>

#include "kernels/distance_curve.h"

namespace segue::kernels {

struct CurveNumbers {
  double alpha, beta;
  SpanExtents span;
};

struct CurveSlopes {
  double by_alpha, by_beta;
};

template <typename Source>
struct CurveMath {
  // NaN stays, other than with fmin and fmax.
  static constexpr double at_most(double limit, double x) { return x > limit ? limit : x; }
  static constexpr double at_least(double limit, double x) { return x < limit ? limit : x; }

  // log(1 + e^x)
  static constexpr double softplus(double x) { return at_least(0.0, x) + std::log1p(std::exp(-std::fabs(x))); }

  static constexpr double sigmoid(double x) {
    const double e = std::exp(-std::fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
  }
};

template <typename Source>
class SigmoidCurve {
  using Math = CurveMath<Source>;

 public:
  constexpr explicit SigmoidCurve(const CurveNumbers& head) : alpha_(head.alpha), beta_(head.beta) {}

  constexpr double at(double distance) const {
    constexpr double kLargest = 88.0;
    return std::exp(Math::at_most(kLargest, Math::softplus(beta_) - Math::softplus(exponent(distance))));
  }
  constexpr CurveSlopes slopes_at(double distance) const {
    const double value = at(distance);
    const double share = Math::sigmoid(exponent(distance));
    return {value * distance * share, value * (Math::sigmoid(beta_) - share)};
  }

 private:
  constexpr double exponent(double distance) const { return beta_ - alpha_ * distance; }

  double alpha_, beta_;
};

template <typename Source>
class LogarithmCurve {
 public:
  constexpr explicit LogarithmCurve(const CurveNumbers& head) : r1_(grown(head.alpha)), r2_(grown(head.beta)) {}

  constexpr double at(double distance) const { return -r1_ * std::log1p(r2_ * distance); }
  constexpr CurveSlopes slopes_at(double distance) const {
    const double product = r2_ * distance;
    return {at(distance), -r1_ * (product / (1.0 + product))};
  }

 private:
  static constexpr double grown(double exponent) {
    constexpr double kLargest = 64.0;
    return std::exp(CurveMath<Source>::at_most(kLargest, exponent));
  }

  double r1_, r2_;
};

template <typename Source>
class SpanCurve {
 public:
  constexpr explicit SpanCurve(const CurveNumbers& head)
      : longest_(head.span.longest), ramp_(head.span.ramp), end_(ramp_ + head.alpha * longest_) {}

  constexpr double at(double distance) const {
    const double share = (end_ - distance) / ramp_;
    if (share >= 1.0) return 0.0;
    return share <= 0.0 ? kUnseen : std::log(share);
  }
  constexpr CurveSlopes slopes_at(double distance) const {
    const double left = end_ - distance;
    return {left >= ramp_ || left <= 0.0 ? 0.0 : longest_ / left, 0.0};
  }

 private:
  double longest_, ramp_, end_;
};

// call<Curve>(), Curve the one of the formula.
template <typename Source, typename Call>
void with_curve(CurveFormula formula, const Call& call) {
  switch (formula) {
    case CurveFormula::kSigmoid:
      return call.template operator()<SigmoidCurve<Source>>();
    case CurveFormula::kLogarithm:
      return call.template operator()<LogarithmCurve<Source>>();
    case CurveFormula::kSpan:
      return call.template operator()<SpanCurve<Source>>();
  }
}

}  // namespace segue::kernels
