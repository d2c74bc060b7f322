// LAMB: a block of threads for every chunk, then one for every tensor, then one for every chunk again.
#include <cmath>

#include "kernels/cuda/clipped_scale.cuh"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kWideLoad = 16 / sizeof(float);

static_assert(sizeof(LambChunk) == kLambChunkFields * sizeof(int64_t));

__device__ __forceinline__ float direction_of(const LambDirection& k, float p, float m, float v) {
  return fmaf(k.weight_decay, p, m / (sqrtf(v) + k.epsilon));
}

struct MomentArguments {
  const float* parameters;
  const float* gradients;
  float* first_moment;
  float* second_moment;
  const LambChunk* chunks;
  double* sums;
  const double* clipped;  // or null
  bool aligned;           // all tensors to 16 bytes
  LambMomentScalars scalars;
};

// Whether the elements of a chunk can be walked over 16 bytes at a time.
__device__ __forceinline__ bool is_wide(const LambChunk& chunk, bool aligned) {
  return aligned && (chunk.first | chunk.own | chunk.count) % kWideLoad == 0;
}

template <int kWidth>
__device__ __forceinline__ void update_moments(const MomentArguments& args, const LambChunk& chunk, double (&sums)[2]) {
  const LambMomentScalars& s = args.scalars;
  const float gradient_scale = clipped_scale(args.clipped);
  for (int64_t i = int64_t{simt::thread()} * kWidth; i < chunk.count; i += int64_t{kThreads} * kWidth) {
    float p[kWidth];
    float g[kWidth];
    float m[kWidth];
    float v[kWidth];
    simt::load(args.parameters + chunk.first + i, p);
    simt::load(args.gradients + chunk.own + i, g);
    simt::load(args.first_moment + chunk.own + i, m);
    simt::load(args.second_moment + chunk.own + i, v);
    for (int k = 0; k < kWidth; ++k) {
      const float gradient = gradient_scale * g[k];
      m[k] = fmaf(s.rest1, gradient, s.beta1 * m[k]);
      v[k] = fmaf(s.rest2 * gradient, gradient, s.beta2 * v[k]);
      const double u = direction_of(s.direction, p[k], m[k], v[k]);
      sums[0] += static_cast<double>(p[k]) * static_cast<double>(p[k]);
      sums[1] += u * u;
    }
    simt::store(args.first_moment + chunk.own + i, m);
    simt::store(args.second_moment + chunk.own + i, v);
  }
}

__global__ void lamb_moments_kernel(MomentArguments args) {
  if (is_left_out(args.clipped)) return;
  const LambChunk chunk = args.chunks[simt::block()];
  double sums[2] = {};
  if (is_wide(chunk, args.aligned)) {
    update_moments<kWideLoad>(args, chunk, sums);
  } else {
    update_moments<1>(args, chunk, sums);
  }
  for (int k = 0; k < 2; ++k) {
    const double sum = simt::reduce_block(sums[k], 0.0, simt::Sum());
    if (simt::thread() == 0) args.sums[2 * simt::block() + k] = sum;
  }
}

struct NormArguments {
  const double* sums;
  const int64_t* starts;
  double* squares;
};

__global__ void lamb_norms_kernel(NormArguments args) {
  const int tensor = simt::block();
  double squares[2] = {};
  for (int64_t c = args.starts[tensor] + simt::thread(); c < args.starts[tensor + 1]; c += kThreads) {
    squares[0] += args.sums[2 * c];
    squares[1] += args.sums[2 * c + 1];
  }
  for (int k = 0; k < 2; ++k) {
    const double sum = simt::reduce_block(squares[k], 0.0, simt::Sum());
    if (simt::thread() == 0) args.squares[2 * tensor + k] = sum;
  }
}

struct StepArguments {
  float* parameters;
  const float* first_moment;
  const float* second_moment;
  const LambChunk* chunks;
  const double* squares;
  BFloat16* compute_copy;  // or null
  const double* clipped;   // or null
  bool aligned;            // all tensors to 16 bytes
  double epsilon;
  LambStepScalars scalars;
};

__device__ __forceinline__ float trust_ratio(const double* squares, double epsilon) {
  const double p_norm = fmin(sqrt(squares[0]), kLargestTrustedNorm);
  const double u_norm = sqrt(squares[1]);
  return p_norm == 0.0 || u_norm == 0.0 ? 1.0F : static_cast<float>(p_norm / (u_norm + epsilon));
}

template <int kWidth>
__device__ __forceinline__ void update_parameters(const StepArguments& args, const LambChunk& chunk) {
  const float rate = args.scalars.learning_rate * trust_ratio(args.squares + 2 * chunk.tensor, args.epsilon);
  for (int64_t i = int64_t{simt::thread()} * kWidth; i < chunk.count; i += int64_t{kThreads} * kWidth) {
    float p[kWidth];
    float m[kWidth];
    float v[kWidth];
    simt::load(args.parameters + chunk.first + i, p);
    simt::load(args.first_moment + chunk.own + i, m);
    simt::load(args.second_moment + chunk.own + i, v);
    for (int k = 0; k < kWidth; ++k) p[k] = fmaf(-rate, direction_of(args.scalars.direction, p[k], m[k], v[k]), p[k]);
    simt::store(args.parameters + chunk.first + i, p);
    if (args.compute_copy != nullptr) simt::store(args.compute_copy + chunk.first + i, p);
  }
}

__global__ void lamb_step_kernel(StepArguments args) {
  if (is_left_out(args.clipped)) return;
  const LambChunk chunk = args.chunks[simt::block()];
  if (is_wide(chunk, args.aligned)) {
    update_parameters<kWideLoad>(args, chunk);
  } else {
    update_parameters<1>(args, chunk);
  }
}

const LambChunk* chunks_of(ConstTensorView chunks) { return reinterpret_cast<const LambChunk*>(chunks.as<int64_t>()); }

}  // namespace

void lamb_moments(Queue& queue, const ScaledLambMoments& scaled) {
  const LambMoments& args = scaled.args;
  const LambMomentScalars& scalars = scaled.scalars;
  const int64_t chunks = args.chunks.shape[0];
  if (chunks == 0) return;
  const MomentArguments arguments{
      .parameters = args.parameters.as<float>(),
      .gradients = args.gradients.as<float>(),
      .first_moment = args.first_moment.as<float>(),
      .second_moment = args.second_moment.as<float>(),
      .chunks = chunks_of(args.chunks),
      .sums = args.sums.as<double>(),
      .clipped = simt::data_of<double>(args.clipped),
      .aligned = simt::is_vectorisable(DType::kFloat32, kWideLoad,
                                       {args.parameters, args.gradients, args.first_moment, args.second_moment}),
      .scalars = scalars};
  simt::launch(queue.cuda(), "lamb_moments", {.x = chunks, .threads = kThreads}, lamb_moments_kernel, arguments);
}

void lamb_norms(Queue& queue, const LambNorms& args) {
  const int64_t tensors = args.squares.shape[0];
  if (tensors == 0) return;
  simt::launch(queue.cuda(), "lamb_norms", {.x = tensors, .threads = kThreads}, lamb_norms_kernel,
               NormArguments{args.sums.as<double>(), args.starts.as<int64_t>(), args.squares.as<double>()});
}

void lamb_step(Queue& queue, const ScaledLambStep& scaled) {
  const LambStep& args = scaled.args;
  const LambStepScalars& scalars = scaled.scalars;
  const int64_t chunks = args.chunks.shape[0];
  if (chunks == 0) return;
  const StepArguments arguments{
      .parameters = args.parameters.as<float>(),
      .first_moment = args.first_moment.as<float>(),
      .second_moment = args.second_moment.as<float>(),
      .chunks = chunks_of(args.chunks),
      .squares = args.squares.as<double>(),
      .compute_copy = simt::data_of<BFloat16>(args.compute_copy),
      .clipped = simt::data_of<double>(args.clipped),
      .aligned = simt::is_vectorisable(DType::kFloat32, kWideLoad,
                                       {args.parameters, args.first_moment, args.second_moment, args.compute_copy}),
      .epsilon = args.epsilon,
      .scalars = scalars};
  simt::launch(queue.cuda(), "lamb_step", {.x = chunks, .threads = kThreads}, lamb_step_kernel, arguments);
}

}  // namespace segue::kernels::cuda
