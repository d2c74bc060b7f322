// Row by row; what a formula reads of a row twice lies on the stack.
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

// A row of inputs or of their gradients; null where the formula has none.
template <typename A>
struct Inputs {
  A* x;            // [H]
  A* projections;  // [M]
};

struct Extents {
  int64_t width;        // H
  int64_t projections;  // M
  int64_t shifts;
  float scale;
};

struct Exponential {
  template <typename A>
  static float half_square(const A* x, int64_t width, float scale) {
    return 0.5F * scale * scale * sums_over<1>(width, [=](auto read, auto add) { add(0, read(x) * read(x)); })[0];
  }

  template <typename A>
  static void forward(const Inputs<const A>& in, const Extents& extents, A* y) {
    const float shift = half_square(in.x, extents.width, extents.scale);
#pragma omp simd
    for (int64_t i = 0; i < extents.projections; ++i) {
      float exponent = extents.scale * load(in.projections + i) - shift;
      exponent = exponent < kLeastFeatureExponent ? kLeastFeatureExponent : exponent;
      exponent = exponent > kLargestFeatureExponent ? kLargestFeatureExponent : exponent;
      store(y + i, exp_float(exponent));
    }
  }

  template <typename A>
  static void backward(const Inputs<const A>& in, const Extents& extents, const A* y, const A* dy,
                       const Inputs<A>& gradients) {
    const float shift = half_square(in.x, extents.width, extents.scale);
    std::array<float, kMaxFeatures> dprojections;
#pragma omp simd
    for (int64_t i = 0; i < extents.projections; ++i) {
      const float exponent = extents.scale * load(in.projections + i) - shift;
      const bool is_cut = exponent < kLeastFeatureExponent || exponent > kLargestFeatureExponent;
      dprojections[i] = is_cut ? 0.0F : extents.scale * load(dy + i) * load(y + i);
    }
    store_row(gradients.projections, dprojections.data(), extents.projections);
    const float* terms = dprojections.data();
    const float sum = sums_over<1>(extents.projections, [=](auto read, auto add) { add(0, read(terms)); })[0];
#pragma omp simd
    for (int64_t h = 0; h < extents.width; ++h) store(gradients.x + h, -extents.scale * load(in.x + h) * sum);
  }
};

struct Wave {
  std::array<float, kMaxFeatures / 2> sine, cosine;

  template <typename A>
  Wave(const A* angles, int64_t count) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const Turn turn = turn_of(load(angles + i));
      sine[i] = turn.sine;
      cosine[i] = turn.cosine;
    }
    for (int64_t i = 0; i < count; ++i) {
      const float angle = load(angles + i);
      if (std::fabs(angle) <= kLargestTurn) continue;
      sine[i] = std::sin(angle);
      cosine[i] = std::cos(angle);
    }
  }

  template <typename A>
  static void forward(const Inputs<const A>& in, const Extents& extents, A* y) {
    const int64_t count = extents.projections;
    const float scale = 1.0F / std::sqrt(static_cast<float>(count));
    const Wave wave(in.projections, count);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      store(y + i, wave.sine[i] * scale);
      store(y + count + i, wave.cosine[i] * scale);
    }
  }

  template <typename A>
  static void backward(const Inputs<const A>& in, const Extents& extents, const A* /*y*/, const A* dy,
                       const Inputs<A>& gradients) {
    const int64_t count = extents.projections;
    const float scale = 1.0F / std::sqrt(static_cast<float>(count));
    const Wave wave(in.projections, count);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const float gradient = load(dy + i) * wave.cosine[i] - load(dy + count + i) * wave.sine[i];
      store(gradients.projections + i, gradient * scale);
    }
  }
};

struct Products {
  // Of a row of 2H columns, one after the other twice: shifted rows lie in one piece.
  using Doubled = std::array<float, 2 * kMaxFeatures>;

  template <typename A>
  static void fill(const A* x, int64_t width, Doubled& a) {
#pragma omp simd
    for (int64_t h = 0; h < width; ++h) {
      const float value = load(x + h);
      a[h] = value < 0.0F ? 0.0F : value;
      a[width + h] = value > 0.0F ? 0.0F : -value;
    }
    std::copy_n(a.data(), 2 * width, a.data() + 2 * width);
  }

  template <typename A>
  static void forward(const Inputs<const A>& in, const Extents& extents, A* y) {
    Doubled a;
    fill(in.x, extents.width, a);
    const int64_t columns = 2 * extents.width;
    for (int64_t shift = 1; shift <= extents.shifts; ++shift, y += columns) {
      const float* shifted = a.data() + columns - shift;
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i) store(y + i, a[i] * shifted[i]);
    }
  }

  template <typename A>
  static void backward(const Inputs<const A>& in, const Extents& extents, const A* /*y*/, const A* dy,
                       const Inputs<A>& gradients) {
    Doubled a, da;
    fill(in.x, extents.width, a);
    const int64_t columns = 2 * extents.width;
    std::fill_n(da.data(), 2 * columns, 0.0F);
    for (int64_t shift = 1; shift <= extents.shifts; ++shift, dy += columns) {
      const float* shifted = a.data() + columns - shift;
      float* dshifted = da.data() + columns - shift;
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i) da[i] += load(dy + i) * shifted[i];
#pragma omp simd
      for (int64_t i = 0; i < columns; ++i) dshifted[i] += load(dy + i) * a[i];
    }
    const float* of_positive = da.data();
    const float* of_negative = da.data() + extents.width;
#pragma omp simd
    for (int64_t h = 0; h < extents.width; ++h) {
      const float x = load(in.x + h);
      const float rest = x < 0.0F ? -(of_negative[h] + of_negative[columns + h]) : x;  // 0 or NaN
      store(gradients.x + h, x > 0.0F ? of_positive[h] + of_positive[columns + h] : rest);
    }
  }
};

struct WithOne {
  template <typename A>
  static void forward(const Inputs<const A>& in, const Extents& extents, A* y) {
    std::copy_n(in.x, extents.width, y);
    store(y + extents.width, 1.0F);
  }

  template <typename A>
  static void backward(const Inputs<const A>& /*in*/, const Extents& extents, const A* /*y*/, const A* dy,
                       const Inputs<A>& gradients) {
    std::copy_n(dy, extents.width, gradients.x);
  }
};

// call<Formula>()
template <typename Call>
void with_formula(FeatureFormula formula, const Call& call) {
  switch (formula) {
    case FeatureFormula::kExponential:
      return call.template operator()<Exponential>();
    case FeatureFormula::kWave:
      return call.template operator()<Wave>();
    case FeatureFormula::kProducts:
      return call.template operator()<Products>();
    case FeatureFormula::kWithOne:
      return call.template operator()<WithOne>();
  }
}

// Null where the tensor was left out.
template <typename A, typename View>
auto row_of(const View& view, int64_t row) {
  return view.empty() ? nullptr : view.template as<A>() + row * view.shape[1];
}

Extents extents_of(const FeatureMapInputs& in) {
  return {.width = in.x.empty() ? 0 : in.x.shape[1],
          .projections = in.projections.empty() ? 0 : in.projections.shape[1],
          .shifts = in.shifts,
          .scale = in.scale};
}

template <typename A>
Inputs<const A> inputs_of(const FeatureMapInputs& in, int64_t row) {
  return {.x = row_of<A>(in.x, row), .projections = row_of<A>(in.projections, row)};
}

}  // namespace

void feature_map_forward(Queue& queue, const FeatureMapForward& args) {
  const FeatureMapInputs& in = args.inputs;
  const Extents extents = extents_of(in);
  with_formula(in.formula, [&]<typename Formula>() {
    with_activations(args.y.dtype, [&]<typename A>() {
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.y.elements()))
      for (int64_t row = 0; row < args.y.shape[0]; ++row)
        Formula::forward(inputs_of<A>(in, row), extents, row_of<A>(args.y, row));
    });
  });
}

void feature_map_backward(Queue& queue, const FeatureMapBackward& args) {
  const FeatureMapInputs& in = args.inputs;
  const Extents extents = extents_of(in);
  with_formula(in.formula, [&]<typename Formula>() {
    with_activations(args.dy.dtype, [&]<typename A>() {
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.dy.elements()))
      for (int64_t row = 0; row < args.dy.shape[0]; ++row) {
        const Inputs<A> gradients{.x = row_of<A>(args.dx, row), .projections = row_of<A>(args.dprojections, row)};
        const A* y = in.formula == FeatureFormula::kExponential ? row_of<A>(args.y, row) : nullptr;
        Formula::backward(inputs_of<A>(in, row), extents, y, row_of<A>(args.dy, row), gradients);
      }
    });
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
