// A thread to each value of the forward. Backward: a warp to each head, whose lanes share the distances.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/curve_formulas.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kForwardThreads = 128;

struct ThisSource;

// Of every head; without beta where the formula has none.
struct Numbers {
  const float* alpha;
  const float* beta;
  SpanExtents span;

  __device__ __forceinline__ CurveNumbers of(int64_t head) const {
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
    const CurveSlopes slopes = curve.slopes_at(static_cast<double>(d));
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
  with_curve<ThisSource>(args.formula, [&]<typename Curve>() {
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
  with_curve<ThisSource>(args.formula, [&]<typename Curve>() {
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
