// Threads share the heads.
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/curve_formulas.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

struct ThisSource;

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
    CurveSlopes sums{};
    for (int64_t d = 0; d < distances; ++d) {
      const auto by_value = static_cast<double>(dcurve[n * distances + d]);
      const CurveSlopes slopes = curve.slopes_at(static_cast<double>(d));
      sums.by_alpha += by_value * slopes.by_alpha;
      sums.by_beta += by_value * slopes.by_beta;
    }
    dalpha[n] += static_cast<float>(sums.by_alpha);
    if (dbeta != nullptr) dbeta[n] += static_cast<float>(sums.by_beta);
  }
}

}  // namespace

void distance_curve_forward(Queue& queue, const DistanceCurveForward& args) {
  with_curve<ThisSource>(args.formula, [&]<typename Curve>() { fill<Curve>(queue, args); });
}

void distance_curve_backward(Queue& queue, const DistanceCurveBackward& args) {
  with_curve<ThisSource>(args.formula, [&]<typename Curve>() { add_slopes<Curve>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
