// LAMB chunk by chunk: a chunk belongs to one thread, so that no sum depends on how many there are.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/clipped_scale.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 1024;

LambChunk chunk_of(ConstTensorView chunks, int64_t c) {
  const int64_t* fields = chunks.as<int64_t>() + c * kLambChunkFields;
  return {.tensor = fields[0], .first = fields[1], .own = fields[2], .count = fields[3]};
}

float direction_of(const LambDirection& k, float p, float m, float v) {
  return std::fma(k.weight_decay, p, m / (std::sqrt(v) + k.epsilon));
}

// A piece at a time, so that the sums read it from the cache.
void update_moments(const LambMoments& args, const LambMomentScalars& k, float gradient_scale, int64_t c) {
  const LambChunk chunk = chunk_of(args.chunks, c);
  double* sums = args.sums.as<double>() + 2 * c;
  sums[0] = sums[1] = 0.0;
  std::array<float, kPiece> u;
  for (int64_t first = 0; first < chunk.count; first += kPiece) {
    const int64_t size = std::min(kPiece, chunk.count - first);
    const float* p = args.parameters.as<float>() + chunk.first + first;
    const float* g = args.gradients.as<float>() + chunk.own + first;
    float* m = args.first_moment.as<float>() + chunk.own + first;
    float* v = args.second_moment.as<float>() + chunk.own + first;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) {
      const float gradient = gradient_scale * g[i];
      m[i] = std::fma(k.rest1, gradient, k.beta1 * m[i]);
      v[i] = std::fma(k.rest2 * gradient, gradient, k.beta2 * v[i]);
      u[i] = direction_of(k.direction, p[i], m[i], v[i]);
    }
    sums[0] += sum_of_squares(p, size);
    sums[1] += sum_of_squares(u.data(), size);
  }
}

float trust_ratio(const double* squares, double epsilon) {
  const double p_norm = std::min(std::sqrt(squares[0]), kLargestTrustedNorm);
  const double u_norm = std::sqrt(squares[1]);
  if (p_norm == 0.0 || u_norm == 0.0) return 1.0F;
  return static_cast<float>(p_norm / (u_norm + epsilon));
}

template <bool kCopy>
void update_parameters(const LambStep& args, const LambStepScalars& k, int64_t c) {
  const LambChunk chunk = chunk_of(args.chunks, c);
  const float rate = k.learning_rate * trust_ratio(args.squares.as<double>() + 2 * chunk.tensor, args.epsilon);
  float* p = args.parameters.as<float>() + chunk.first;
  BFloat16* copy = kCopy ? args.compute_copy.as<BFloat16>() + chunk.first : nullptr;
  const float* m = args.first_moment.as<float>() + chunk.own;
  const float* v = args.second_moment.as<float>() + chunk.own;
#pragma omp simd
  for (int64_t i = 0; i < chunk.count; ++i) {
    p[i] = std::fma(-rate, direction_of(k.direction, p[i], m[i], v[i]), p[i]);
    if constexpr (kCopy) store(copy + i, p[i]);
  }
}

}  // namespace

void lamb_moments(Queue& queue, const ScaledLambMoments& scaled) {
  const LambMoments& args = scaled.args;
  const LambMomentScalars& scalars = scaled.scalars;
  const std::optional<float> scale = clipped_scale(args.clipped);
  if (!scale) return;
  const float gradient_scale = *scale;
#pragma omp parallel for schedule(dynamic) num_threads(threads_for(queue, args.first_moment.elements()))
  for (int64_t c = 0; c < args.chunks.shape[0]; ++c) update_moments(args, scalars, gradient_scale, c);
}

void lamb_norms(Queue& /*queue*/, const LambNorms& args) {
  const double* sums = args.sums.as<double>();
  const int64_t* starts = args.starts.as<int64_t>();
  for (int64_t n = 0; n < args.squares.shape[0]; ++n) {
    double* squares = args.squares.as<double>() + 2 * n;
    squares[0] = squares[1] = 0.0;
    for (int64_t c = starts[n]; c < starts[n + 1]; ++c) {
      squares[0] += sums[2 * c];
      squares[1] += sums[2 * c + 1];
    }
  }
}

void lamb_step(Queue& queue, const ScaledLambStep& scaled) {
  const LambStep& args = scaled.args;
  const LambStepScalars& scalars = scaled.scalars;
  if (!clipped_scale(args.clipped)) return;
  const auto update = args.compute_copy.empty() ? update_parameters<false> : update_parameters<true>;
#pragma omp parallel for schedule(dynamic) num_threads(threads_for(queue, args.first_moment.elements()))
  for (int64_t c = 0; c < args.chunks.shape[0]; ++c) update(args, scalars, c);
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
