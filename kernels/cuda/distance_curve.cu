// A thread to each value of the forward. Backward: a warp to each head, whose lanes share the distances.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kForwardThreads = 128;

// NaN stays, other than with fmin and fmax.
__device__ __forceinline__ double at_most(double limit, double x) { return x > limit ? limit : x; }

// log(1 + e^x)
__device__ __forceinline__ double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }

__device__ __forceinline__ double sigmoid(double x) {
  const double e = exp(-fabs(x));
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
  __device__ __forceinline__ explicit SigmoidCurve(const HeadNumbers& head) : alpha_(head.alpha), beta_(head.beta) {}

  __device__ __forceinline__ double at(double distance) const {
    constexpr double kLargest = 88.0;
    return exp(at_most(kLargest, softplus(beta_) - softplus(exponent(distance))));
  }
  __device__ __forceinline__ Slopes slopes_at(double distance) const {
    const double value = at(distance);
    const double share = sigmoid(exponent(distance));
    return {value * distance * share, value * (sigmoid(beta_) - share)};
  }

 private:
  __device__ __forceinline__ double exponent(double distance) const { return beta_ - alpha_ * distance; }

  double alpha_, beta_;
};

class LogarithmCurve {
 public:
  __device__ __forceinline__ explicit LogarithmCurve(const HeadNumbers& head)
      : r1_(grown(head.alpha)), r2_(grown(head.beta)) {}

  __device__ __forceinline__ double at(double distance) const { return -r1_ * log1p(r2_ * distance); }
  __device__ __forceinline__ Slopes slopes_at(double distance) const {
    const double product = r2_ * distance;
    return {at(distance), -r1_ * (product / (1.0 + product))};
  }

 private:
  __device__ __forceinline__ static double grown(double exponent) {
    constexpr double kLargest = 64.0;
    return exp(at_most(kLargest, exponent));
  }

  double r1_, r2_;
};

class SpanCurve {
 public:
  __device__ __forceinline__ explicit SpanCurve(const HeadNumbers& head)
      : longest_(head.span.longest), ramp_(head.span.ramp), end_(ramp_ + head.alpha * longest_) {}

  __device__ __forceinline__ double at(double distance) const {
    const double share = (end_ - distance) / ramp_;
    if (share >= 1.0) return 0.0;
    return share <= 0.0 ? kUnseen : log(share);
  }
  __device__ __forceinline__ Slopes slopes_at(double distance) const {
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

// Of every head; without beta where the formula has none.
struct Numbers {
  const float* alpha;
  const float* beta;
  SpanExtents span;

  __device__ __forceinline__ HeadNumbers of(int64_t head) const {
    return {alpha[head], beta == nullptr ? 0.0F : beta[head], span};
  }
};

template <typename Arguments>
Numbers numbers_of(const Arguments& args) {
  return {args.alpha.template as<float>(), args.beta.template as<float>(), args.span};
}

struct ForwardArguments {
  Numbers numbers;
  float* values;
  int64_t heads;
  int64_t distances;
};

template <typename Curve>
__global__ void distance_curve_forward_kernel(ForwardArguments args) {
  const int64_t element = static_cast<int64_t>(simt::block()) * simt::block_threads() + simt::thread();
  if (element >= args.heads * args.distances) return;
  const Curve curve(args.numbers.of(element / args.distances));
  args.values[element] = static_cast<float>(curve.at(static_cast<double>(element % args.distances)));
}

struct BackwardArguments {
  Numbers numbers;
  const float* dcurve;
  float* dalpha;
  float* dbeta;
  int64_t heads;
  int64_t distances;
};

template <typename Curve>
__global__ void distance_curve_backward_kernel(BackwardArguments args) {
  const int64_t n = simt::my_row<true>();
  if (n >= args.heads) return;  // the whole warp
  const Curve curve(args.numbers.of(n));
  float by_alpha = 0.0F;
  float by_beta = 0.0F;
  for (int64_t d = simt::lane(); d < args.distances; d += simt::kWarp) {
    const double by_value = args.dcurve[n * args.distances + d];
    const Slopes slopes = curve.slopes_at(static_cast<double>(d));
    by_alpha += static_cast<float>(by_value * slopes.by_alpha);
    by_beta += static_cast<float>(by_value * slopes.by_beta);
  }
  by_alpha = simt::reduce_warp(by_alpha, simt::Sum());
  by_beta = simt::reduce_warp(by_beta, simt::Sum());
  if (simt::lane() != 0) return;
  args.dalpha[n] += by_alpha;
  if (args.dbeta != nullptr) args.dbeta[n] += by_beta;
}

}  // namespace

void distance_curve_forward(Queue& queue, const DistanceCurveForward& args) {
  const int64_t elements = args.curve.elements();
  if (elements == 0) return;
  with_curve(args.formula, [&]<typename Curve>() {
    simt::launch(queue.cuda(), "distance_curve_forward",
                 {.x = simt::divide_up(elements, kForwardThreads), .threads = kForwardThreads},
                 distance_curve_forward_kernel<Curve>,
                 ForwardArguments{.numbers = numbers_of(args),
                                  .values = args.curve.as<float>(),
                                  .heads = args.curve.shape[0],
                                  .distances = args.curve.shape[1]});
  });
}

void distance_curve_backward(Queue& queue, const DistanceCurveBackward& args) {
  if (args.dcurve.elements() == 0) return;
  with_curve(args.formula, [&]<typename Curve>() {
    simt::launch(queue.cuda(), "distance_curve_backward", simt::launch_of_warp_rows(args.dcurve.shape[0]),
                 distance_curve_backward_kernel<Curve>,
                 BackwardArguments{.numbers = numbers_of(args),
                                   .dcurve = args.dcurve.as<float>(),
                                   .dalpha = args.dalpha.as<float>(),
                                   .dbeta = args.dbeta.as<float>(),
                                   .heads = args.dcurve.shape[0],
                                   .distances = args.dcurve.shape[1]});
  });
}

}  // namespace segue::kernels::cuda
