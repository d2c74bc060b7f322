// Row by row, a row in registers and the first-level cache; sums for the gain are gathered over slabs of rows, which
// are added in their order.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kSlabRows = 64;

using Row = std::array<float, kMaxHeadNormWidth>;

// An activation and its derivative. NaN stays NaN.
struct Identity {
  static float of(float x) { return x; }
  static float slope(float /*x*/) { return 1.0F; }
};
struct Silu {
  static float of(float x) { return x * sigmoid(x); }
  static float slope(float x) {
    const float s = sigmoid(x);
    return s * (1.0F + x * (1.0F - s));
  }
};
struct Relu {
  static float of(float x) { return x < 0.0F ? 0.0F : x; }
  static float slope(float x) { return x > 0.0F ? 1.0F : 0.0F; }
};
struct EluPlusOne {
  static float of(float x) { return x > 0.0F ? x + 1.0F : exp_float(x); }
  static float slope(float x) { return x > 0.0F ? 1.0F : exp_float(x); }
};

// call<F>()
template <typename Call>
void with_feature(Feature feature, const Call& call) {
  switch (feature) {
    case Feature::kIdentity:
      return call.template operator()<Identity>();
    case Feature::kSilu:
      return call.template operator()<Silu>();
    case Feature::kRelu:
      return call.template operator()<Relu>();
    case Feature::kEluPlusOne:
      return call.template operator()<EluPlusOne>();
  }
}

// What a row's sums of products are divided by.
float terms_of(HeadNorm norm, int64_t width) {
  return norm == HeadNorm::kRootMeanSquare ? static_cast<float>(width) : 1.0F;
}

// The factors of a row besides its norm: gain silu(gate).
template <typename A>
void fill_factors(const HeadNormInputs& in, int64_t row, Row& factors) {
  const int64_t width = in.x.shape[1];
  const float* gain = data_of<float>(in.gain);
  const A* gate = in.gate.empty() ? nullptr : in.gate.as<A>() + row * width;
#pragma omp simd
  for (int64_t h = 0; h < width; ++h) factors[h] = gain == nullptr ? 1.0F : gain[h];
  if (gate == nullptr) return;
#pragma omp simd
  for (int64_t h = 0; h < width; ++h) factors[h] *= Silu::of(load(gate + h));
}

template <typename F, typename A>
void fill_features(const HeadNormInputs& in, int64_t row, Row& features) {
  const int64_t width = in.x.shape[1];
  const A* x = in.x.as<A>() + row * width;
#pragma omp simd
  for (int64_t h = 0; h < width; ++h) features[h] = F::of(load(x + h));
}

float sum_of_products(const float* a, const float* b, int64_t count) {
  return sums_over<1>(count, [=](auto read, auto add) { add(0, read(a) * read(b)); })[0];
}

template <typename F, typename A>
void forward(const Queue& queue, const HeadNormForward& args) {
  const HeadNormInputs& in = args.inputs;
  const int64_t rows = in.x.shape[0];
  const int64_t width = in.x.shape[1];
  A* y = args.y.as<A>();
  float* scales = data_of<float>(args.scale);
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, in.x.elements()))
  for (int64_t row = 0; row < rows; ++row) {
    Row features, factors;
    fill_features<F, A>(in, row, features);
    fill_factors<A>(in, row, factors);
    float scale = 1.0F;
    if (scales != nullptr) {
      const float squares = sum_of_products(features.data(), features.data(), width) / terms_of(in.norm, width);
      scale = scales[row] = 1.0F / std::sqrt(squares + in.epsilon);
    }
    A* to = y + row * width;
#pragma omp simd
    for (int64_t h = 0; h < width; ++h) store(to + h, features[h] * scale * factors[h]);
  }
}

// Reads all of a row before it writes any of it.
template <typename F, typename A>
void backward_row(const HeadNormBackward& args, int64_t row, Row& gain_sums) {
  const HeadNormInputs& in = args.inputs;
  const int64_t width = in.x.shape[1];
  const int64_t first = row * width;
  const float scale = args.scale.empty() ? 1.0F : args.scale.as<float>()[row];
  Row features, factors, dy, e;
  fill_features<F, A>(in, row, features);
  fill_factors<A>(in, row, factors);
  const A* from = args.dy.as<A>() + first;
#pragma omp simd
  for (int64_t h = 0; h < width; ++h) {
    dy[h] = load(from + h);
    e[h] = dy[h] * factors[h];
  }
  const float gathered =
      args.scale.empty() ? 0.0F
                         : scale * scale * sum_of_products(e.data(), features.data(), width) / terms_of(in.norm, width);
  const A* x = in.x.as<A>() + first;
  A* dx = args.dx.as<A>() + first;
#pragma omp simd
  for (int64_t h = 0; h < width; ++h) store(dx + h, scale * (e[h] - features[h] * gathered) * F::slope(load(x + h)));
  const float* gain = data_of<float>(in.gain);
  if (!in.gate.empty()) {
    const A* gate = in.gate.as<A>() + first;
    A* dgate = args.dgate.as<A>() + first;
#pragma omp simd
    for (int64_t h = 0; h < width; ++h) {
      const float normed = dy[h] * features[h] * scale;
      store(dgate + h, normed * (gain == nullptr ? 1.0F : gain[h]) * Silu::slope(load(gate + h)));
      if (gain != nullptr) gain_sums[h] += normed * Silu::of(load(gate + h));
    }
  } else if (gain != nullptr) {
#pragma omp simd
    for (int64_t h = 0; h < width; ++h) gain_sums[h] += dy[h] * features[h] * scale;
  }
}

template <typename F, typename A>
void backward(const Queue& queue, const HeadNormBackward& args) {
  const int64_t rows = args.dy.shape[0];
  const int64_t width = args.dy.shape[1];
  auto* dgain = data_of<float>(args.dgain);
  const int64_t slabs = (rows + kSlabRows - 1) / kSlabRows;
#pragma omp parallel for ordered schedule(static, 1) num_threads(threads_for(queue, args.dy.elements()))
  for (int64_t slab = 0; slab < slabs; ++slab) {
    Row sums;
    std::fill_n(sums.data(), width, 0.0F);
    for (int64_t row = rows * slab / slabs; row < rows * (slab + 1) / slabs; ++row) backward_row<F, A>(args, row, sums);
#pragma omp ordered
    if (dgain != nullptr) add_to(dgain, sums.data(), width);
  }
}

}  // namespace

void head_norm_forward(Queue& queue, const HeadNormForward& args) {
  with_feature(args.inputs.feature, [&]<typename F>() {
    with_activations(args.inputs.x.dtype, [&]<typename A>() { forward<F, A>(queue, args); });
  });
}

void head_norm_backward(Queue& queue, const HeadNormBackward& args) {
  with_feature(args.inputs.feature, [&]<typename F>() {
    with_activations(args.inputs.x.dtype, [&]<typename A>() { backward<F, A>(queue, args); });
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
