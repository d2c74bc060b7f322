// A thread to each gain of the forward. Backward: a warp to each head, whose lanes share the distances.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kForwardThreads = 128;

// log(1 + e^x)
__device__ __forceinline__ double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }

__device__ __forceinline__ double sigmoid(double x) {
  const double e = exp(-fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

// The gains of one head.
struct Curve {
  double alpha, beta;

  __device__ __forceinline__ double exponent(int64_t distance) const {
    return beta - alpha * static_cast<double>(distance);
  }
  __device__ __forceinline__ double gain(int64_t distance) const {
    constexpr double kLargest = 88.0;
    return exp(fmin(softplus(beta) - softplus(exponent(distance)), kLargest));
  }
};

struct ForwardArguments {
  const float* alpha;
  const float* beta;
  float* gain;
  int64_t heads;
  int64_t distances;
};

__global__ void distance_gain_forward_kernel(ForwardArguments args) {
  const int64_t element = static_cast<int64_t>(simt::block()) * simt::block_threads() + simt::thread();
  if (element >= args.heads * args.distances) return;
  const int64_t n = element / args.distances;
  const Curve curve{args.alpha[n], args.beta[n]};
  args.gain[element] = static_cast<float>(curve.gain(element % args.distances));
}

struct BackwardArguments {
  const float* alpha;
  const float* beta;
  const float* dgain;
  float* dalpha;
  float* dbeta;
  int64_t heads;
  int64_t distances;
};

__global__ void distance_gain_backward_kernel(BackwardArguments args) {
  const int64_t n = simt::my_row<true>();
  if (n >= args.heads) return;  // the whole warp
  const Curve curve{args.alpha[n], args.beta[n]};
  float by_alpha = 0.0F;
  float by_beta = 0.0F;
  for (int64_t d = simt::lane(); d < args.distances; d += simt::kWarp) {
    const double dlog = args.dgain[n * args.distances + d] * curve.gain(d);
    const double slope = sigmoid(curve.exponent(d));
    by_alpha += static_cast<float>(dlog * static_cast<double>(d) * slope);
    by_beta += static_cast<float>(dlog * (sigmoid(curve.beta) - slope));
  }
  by_alpha = simt::reduce_warp(by_alpha, simt::Sum());
  by_beta = simt::reduce_warp(by_beta, simt::Sum());
  if (simt::lane() != 0) return;
  args.dalpha[n] += by_alpha;
  args.dbeta[n] += by_beta;
}

}  // namespace

void distance_gain_forward(Queue& queue, const DistanceGainForward& args) {
  const int64_t elements = args.gain.elements();
  if (elements == 0) return;
  simt::launch(queue.cuda(), "distance_gain_forward",
               {.x = simt::divide_up(elements, kForwardThreads), .threads = kForwardThreads},
               distance_gain_forward_kernel,
               ForwardArguments{.alpha = args.alpha.as<float>(),
                                .beta = args.beta.as<float>(),
                                .gain = args.gain.as<float>(),
                                .heads = args.gain.shape[0],
                                .distances = args.gain.shape[1]});
}

void distance_gain_backward(Queue& queue, const DistanceGainBackward& args) {
  if (args.dgain.elements() == 0) return;
  simt::launch(queue.cuda(), "distance_gain_backward", simt::launch_of_warp_rows(args.dgain.shape[0]),
               distance_gain_backward_kernel,
               BackwardArguments{.alpha = args.alpha.as<float>(),
                                 .beta = args.beta.as<float>(),
                                 .dgain = args.dgain.as<float>(),
                                 .dalpha = args.dalpha.as<float>(),
                                 .dbeta = args.dbeta.as<float>(),
                                 .heads = args.dgain.shape[0],
                                 .distances = args.dgain.shape[1]});
}

}  // namespace segue::kernels::cuda
