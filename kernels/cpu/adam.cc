// One pass over the four arrays of the optimizer, and a norm whose order of summation never changes.
#include "kernels/cpu/adam.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {

namespace {

double sum_of_squares(const float* g, int64_t begin, int64_t end) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = begin; i < end; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  return sum;
}

// The scalars of a step, derived in double once.
struct Coefficients {
  Coefficients(const AdamStep& args, double scale)
      : beta1(static_cast<float>(args.beta1)),
        rest1(static_cast<float>(1.0 - args.beta1)),
        beta2(static_cast<float>(args.beta2)),
        rest2(static_cast<float>(1.0 - args.beta2)),
        decay(static_cast<float>(1.0 - args.learning_rate * args.weight_decay)),
        rate(static_cast<float>(args.learning_rate / (1.0 - std::pow(args.beta1, static_cast<double>(args.step))))),
        root_scale(static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(args.beta2, static_cast<double>(args.step))))),
        epsilon(static_cast<float>(args.epsilon)),
        gradient_scale(static_cast<float>(scale)) {}
  float beta1, rest1, beta2, rest2;
  float decay;
  float rate;        // lr / (1 - beta1^t)
  float root_scale;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
  float gradient_scale;
};

}  // namespace

void gradient_norm(const Stream& stream, const GradientNorm& args) {
  const int64_t count = args.gradients.elements();
  const float* g = args.gradients.as<float>();
  double* parts = args.parts.as<double>();
  const int64_t part_size = (count + kGradientNormParts - 1) / kGradientNormParts;
#pragma omp parallel for schedule(static) num_threads(threads_for(stream, count))
  for (int64_t part = 0; part < kGradientNormParts; ++part) {
    const int64_t begin = std::min(count, part * part_size);
    parts[part] = sum_of_squares(g, begin, std::min(count, begin + part_size));
  }
}

void clip_gradients(const Stream& /*stream*/, const GradientClip& args) {
  const double* parts = args.parts.as<double>();
  const double norm = std::sqrt(std::accumulate(parts, parts + kGradientNormParts, 0.0));
  args.outcome.as<double>()[0] = norm;
  args.outcome.as<double>()[1] = args.clip > 0.0 ? std::min(1.0, args.clip / (norm + 1e-6)) : 1.0;
}

void adam_step(const Stream& stream, const AdamStep& args) {
  const double* clipped = args.clipped.empty() ? nullptr : args.clipped.as<double>();
  if (clipped != nullptr && !std::isfinite(clipped[0])) return;
  const Coefficients k(args, clipped == nullptr ? 1.0 : clipped[1]);
  const int64_t count = args.parameters.elements();
  float* p = args.parameters.as<float>();
  const float* g = args.gradients.as<float>();
  float* m = args.first_moment.as<float>();
  float* v = args.second_moment.as<float>();
#pragma omp parallel for simd schedule(static) num_threads(threads_for(stream, count))
  for (int64_t i = 0; i < count; ++i) {
    const float gradient = k.gradient_scale * g[i];
    m[i] = std::fma(k.rest1, gradient, k.beta1 * m[i]);
    v[i] = std::fma(k.rest2 * gradient, gradient, k.beta2 * v[i]);
    const float denominator = std::fma(std::sqrt(v[i]), k.root_scale, k.epsilon);
    p[i] = p[i] * k.decay - k.rate * m[i] / denominator;
  }
}

}  // namespace segue::kernels::cpu
