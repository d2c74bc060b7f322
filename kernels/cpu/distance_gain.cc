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

// The gains of one head.
struct Curve {
  double alpha, beta;

  double exponent(int64_t distance) const { return beta - alpha * static_cast<double>(distance); }
  double gain(int64_t distance) const {
    constexpr double kLargest = 88.0;
    return std::exp(std::min(softplus(beta) - softplus(exponent(distance)), kLargest));
  }
};

Curve curve_of(ConstTensorView alpha, ConstTensorView beta, int64_t head) {
  return {static_cast<double>(alpha.as<float>()[head]), static_cast<double>(beta.as<float>()[head])};
}

}  // namespace

void distance_gain_forward(Queue& queue, const DistanceGainForward& args) {
  const int64_t distances = args.gain.shape[1];
  float* gain = args.gain.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.gain.elements()))
  for (int64_t n = 0; n < args.gain.shape[0]; ++n) {
    const Curve curve = curve_of(args.alpha, args.beta, n);
    for (int64_t d = 0; d < distances; ++d) gain[n * distances + d] = static_cast<float>(curve.gain(d));
  }
}

void distance_gain_backward(Queue& queue, const DistanceGainBackward& args) {
  const int64_t distances = args.dgain.shape[1];
  const float* dgain = args.dgain.as<float>();
  float* dalpha = args.dalpha.as<float>();
  float* dbeta = args.dbeta.as<float>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.dgain.elements()))
  for (int64_t n = 0; n < args.dgain.shape[0]; ++n) {
    const Curve curve = curve_of(args.alpha, args.beta, n);
    double by_alpha = 0.0;
    double by_beta = 0.0;
    for (int64_t d = 0; d < distances; ++d) {
      const double dlog = static_cast<double>(dgain[n * distances + d]) * curve.gain(d);
      const double slope = sigmoid(curve.exponent(d));
      by_alpha += dlog * static_cast<double>(d) * slope;
      by_beta += dlog * (sigmoid(curve.beta) - slope);
    }
    dalpha[n] += static_cast<float>(by_alpha);
    dbeta[n] += static_cast<float>(by_beta);
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
