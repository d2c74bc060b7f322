// Threads share the heads. No exponential here is of a number above 88.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// log(1 + e^x)
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

struct Slopes {
  double by_alpha, by_beta;
};

struct HeadNumbers {
  double alpha, beta;
  SpanExtents span;
};

// The curves of one head, each by its formula.
class SigmoidCurve {
 public:
  explicit SigmoidCurve(const HeadNumbers& head) : alpha_(head.alpha), beta_(head.beta) {}

  double at(double distance) const {
    constexpr double kLargest = 88.0;
    return std::exp(std::min(softplus(beta_) - softplus(exponent(distance)), kLargest));
  }
  Slopes slopes_at(double distance) const {
    const double value = at(distance);
    const double share = sigmoid(exponent(distance));
    return {value * distance * share, value * (sigmoid(beta_) - share)};
  }

 private:
  double exponent(double distance) const { return beta_ - alpha_ * distance; }

  double alpha_, beta_;
};

class LogarithmCurve {
 public:
  explicit LogarithmCurve(const HeadNumbers& head) : r1_(grown(head.alpha)), r2_(grown(head.beta)) {}

  double at(double distance) const { return -r1_ * std::log1p(r2_ * distance); }
  Slopes slopes_at(double distance) const {
    const double product = r2_ * distance;
    return {at(distance), -r1_ * (product / (1.0 + product))};
  }

 private:
  static double grown(double exponent) {
    constexpr double kLargest = 64.0;
    return std::exp(std::min(exponent, kLargest));
  }

  double r1_, r2_;
};

class SpanCurve {
 public:
  explicit SpanCurve(const HeadNumbers& head)
      : longest_(head.span.longest), ramp_(head.span.ramp), end_(ramp_ + head.alpha * longest_) {}

  double at(double distance) const {
    const double share = (end_ - distance) / ramp_;
    if (share >= 1.0) return 0.0;
    return share <= 0.0 ? kUnseen : std::log(share);
  }
  Slopes slopes_at(double distance) const {
    const double left = end_ - distance;
    return {left >= ramp_ || left <= 0.0 ? 0.0 : longest_ / left, 0.0};
  }

 private:
  double longest_, ramp_, end_;
};

// call<Curve>()
template <typename Call>
void with_curve(CurveFormula formula, const Call& call) {
  switch (formula) {
    case CurveFormula::kSigmoid:
      return call.template operator()<SigmoidCurve>();
    case CurveFormula::kLogarithm:
      return call.template operator()<LogarithmCurve>();
    case CurveFormula::kSpan:
      return call.template operator()<SpanCurve>();
  }
}

template <typename Curve, typename Arguments>
Curve curve_of(const Arguments& args, int64_t head) {
  const auto number = [head](ConstTensorView values) {
    return values.empty() ? 0.0 : static_cast<double>(values.as<float>()[head]);
  };
  return Curve({.alpha = number(args.alpha), .beta = number(args.beta), .span = args.span});
}

template <typename Curve>
void fill(const Queue& queue, const DistanceCurveForward& args) {
  const int64_t distances = args.curve.shape[1];
  float* values = args.curve.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.curve.elements()))
  for (int64_t n = 0; n < args.curve.shape[0]; ++n) {
    const auto curve = curve_of<Curve>(args, n);
    for (int64_t d = 0; d < distances; ++d)
      values[n * distances + d] = static_cast<float>(curve.at(static_cast<double>(d)));
  }
}

template <typename Curve>
void add_slopes(const Queue& queue, const DistanceCurveBackward& args) {
  const int64_t distances = args.dcurve.shape[1];
  const float* dcurve = args.dcurve.as<float>();
  float* dalpha = args.dalpha.as<float>();
  float* dbeta = args.dbeta.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.dcurve.elements()))
  for (int64_t n = 0; n < args.dcurve.shape[0]; ++n) {
    const auto curve = curve_of<Curve>(args, n);
    Slopes sums{};
    for (int64_t d = 0; d < distances; ++d) {
      const auto by_value = static_cast<double>(dcurve[n * distances + d]);
      const Slopes slopes = curve.slopes_at(static_cast<double>(d));
      sums.by_alpha += by_value * slopes.by_alpha;
      sums.by_beta += by_value * slopes.by_beta;
    }
    dalpha[n] += static_cast<float>(sums.by_alpha);
    if (dbeta != nullptr) dbeta[n] += static_cast<float>(sums.by_beta);
  }
}

}  // namespace

void distance_curve_forward(Queue& queue, const DistanceCurveForward& args) {
  with_curve(args.formula, [&]<typename Curve>() { fill<Curve>(queue, args); });
}

void distance_curve_backward(Queue& queue, const DistanceCurveBackward& args) {
  with_curve(args.formula, [&]<typename Curve>() { add_slopes<Curve>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
