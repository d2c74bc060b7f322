// A warp to each row: 16 bytes to a lane where rows of exponentials and waves allow it, otherwise an element.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element>
struct Forward {
  const Element* x;            // or null
  const Element* projections;  // or null
  Element* y;
  int64_t rows;
  int64_t width;      // H
  int64_t projected;  // M
  int64_t features;   // K
  int64_t shifts;
  float scale;
};

template <typename Element>
struct Backward {
  const Element* x;            // or null
  const Element* projections;  // or null
  const Element* y;            // of exponentials
  const Element* dy;
  Element* dx;            // null where x is
  Element* dprojections;  // null where projections are
  int64_t rows;
  int64_t width;
  int64_t projected;
  int64_t features;
  int64_t shifts;
  float scale;
};

// call(column) for the pieces of a row that are the lane's.
template <int kWidth, typename Call>
__device__ __forceinline__ void for_each_piece(int64_t columns, const Call& call) {
  for (int64_t column = int64_t{simt::lane()} * kWidth; column < columns; column += simt::kWarp * kWidth) call(column);
}

struct Exponential {
  // |x|² / 2 of a row.
  template <int kWidth, typename Element>
  __device__ __forceinline__ static float half_square(const Element* x, int64_t width, float scale) {
    float squares = 0.0F;
    for_each_piece<kWidth>(width, [&](int64_t column) {
      float piece[kWidth];
      simt::load(x + column, piece);
      for (int k = 0; k < kWidth; ++k) squares += piece[k] * piece[k];
    });
    return 0.5F * scale * scale * simt::reduce_warp(squares, simt::Sum());
  }

  template <int kWidth, typename Element>
  __device__ __forceinline__ static void forward(const Forward<Element>& args, int64_t row) {
    const float shift = half_square<kWidth>(args.x + row * args.width, args.width, args.scale);
    for_each_piece<kWidth>(args.projected, [&](int64_t column) {
      float piece[kWidth];
      simt::load(args.projections + row * args.projected + column, piece);
      for (int k = 0; k < kWidth; ++k) {
        float exponent = args.scale * piece[k] - shift;
        exponent = exponent < kLeastFeatureExponent ? kLeastFeatureExponent : exponent;
        exponent = exponent > kLargestFeatureExponent ? kLargestFeatureExponent : exponent;
        piece[k] = expf(exponent);
      }
      simt::store(args.y + row * args.projected + column, piece);
    });
  }

  template <int kWidth, typename Element>
  __device__ __forceinline__ static void backward(const Backward<Element>& args, int64_t row) {
    const float shift = half_square<kWidth>(args.x + row * args.width, args.width, args.scale);
    float sum = 0.0F;
    for_each_piece<kWidth>(args.projected, [&](int64_t column) {
      const int64_t element = row * args.projected + column;
      float exponents[kWidth];
      float y[kWidth];
      float gradients[kWidth];
      simt::load(args.projections + element, exponents);
      simt::load(args.y + element, y);
      simt::load(args.dy + element, gradients);
      for (int k = 0; k < kWidth; ++k) {
        exponents[k] = args.scale * exponents[k] - shift;
        const bool is_cut = exponents[k] < kLeastFeatureExponent || exponents[k] > kLargestFeatureExponent;
        gradients[k] = is_cut ? 0.0F : args.scale * gradients[k] * y[k];
        sum += gradients[k];
      }
      simt::store(args.dprojections + element, gradients);
    });
    sum = simt::reduce_warp(sum, simt::Sum());
    for_each_piece<kWidth>(args.width, [&](int64_t column) {
      float piece[kWidth];
      simt::load(args.x + row * args.width + column, piece);
      for (int k = 0; k < kWidth; ++k) piece[k] *= -args.scale * sum;
      simt::store(args.dx + row * args.width + column, piece);
    });
  }
};

struct Wave {
  template <int kWidth, typename Element>
  __device__ __forceinline__ static void forward(const Forward<Element>& args, int64_t row) {
    const float scale = 1.0F / sqrtf(static_cast<float>(args.projected));
    for_each_piece<kWidth>(args.projected, [&](int64_t column) {
      float angles[kWidth];
      float sines[kWidth];
      simt::load(args.projections + row * args.projected + column, angles);
      for (int k = 0; k < kWidth; ++k) {
        sines[k] = sinf(angles[k]) * scale;
        angles[k] = cosf(angles[k]) * scale;
      }
      simt::store(args.y + row * args.features + column, sines);
      simt::store(args.y + row * args.features + args.projected + column, angles);
    });
  }

  template <int kWidth, typename Element>
  __device__ __forceinline__ static void backward(const Backward<Element>& args, int64_t row) {
    const float scale = 1.0F / sqrtf(static_cast<float>(args.projected));
    for_each_piece<kWidth>(args.projected, [&](int64_t column) {
      float angles[kWidth];
      float dsines[kWidth];
      float dcosines[kWidth];
      simt::load(args.projections + row * args.projected + column, angles);
      simt::load(args.dy + row * args.features + column, dsines);
      simt::load(args.dy + row * args.features + args.projected + column, dcosines);
      for (int k = 0; k < kWidth; ++k)
        angles[k] = (dsines[k] * cosf(angles[k]) - dcosines[k] * sinf(angles[k])) * scale;
      simt::store(args.dprojections + row * args.projected + column, angles);
    });
  }
};

struct Products {
  // Column `place` of relu([x, -x]), which goes around.
  template <typename Element>
  __device__ __forceinline__ static float rectified(const Element* x, int64_t width, int64_t place) {
    if (place < 0) place += 2 * width;
    if (place >= 2 * width) place -= 2 * width;
    const float value = place < width ? simt::as_float(x[place]) : -simt::as_float(x[place - width]);
    return value < 0.0F ? 0.0F : value;
  }

  template <int kWidth, typename Element>
  __device__ __forceinline__ static void forward(const Forward<Element>& args, int64_t row) {
    const Element* x = args.x + row * args.width;
    Element* y = args.y + row * args.features;
    for (int64_t i = simt::lane(); i < 2 * args.width; i += simt::kWarp) {
      const float value = rectified(x, args.width, i);
      for (int64_t shift = 1; shift <= args.shifts; ++shift)
        y[2 * args.width * (shift - 1) + i] = static_cast<Element>(value * rectified(x, args.width, i - shift));
    }
  }

  // Of x and -x only the one above 0 receives anything.
  template <int kWidth, typename Element>
  __device__ __forceinline__ static void backward(const Backward<Element>& args, int64_t row) {
    const Element* x = args.x + row * args.width;
    const int64_t columns = 2 * args.width;
    for (int64_t h = simt::lane(); h < args.width; h += simt::kWarp) {
      const float value = simt::as_float(x[h]);
      const int64_t place = value < 0.0F ? args.width + h : h;
      float sum = 0.0F;
      const Element* dy = args.dy + row * args.features;
      for (int64_t shift = 1; shift <= args.shifts; ++shift, dy += columns) {
        const int64_t later = place + shift < columns ? place + shift : place + shift - columns;
        sum += simt::as_float(dy[place]) * rectified(x, args.width, place - shift);
        sum += simt::as_float(dy[later]) * rectified(x, args.width, later);
      }
      const float rest = value < 0.0F ? -sum : value;  // 0 or NaN
      args.dx[row * args.width + h] = static_cast<Element>(value > 0.0F ? sum : rest);
    }
  }
};

struct WithOne {
  template <int kWidth, typename Element>
  __device__ __forceinline__ static void forward(const Forward<Element>& args, int64_t row) {
    for (int64_t h = simt::lane(); h < args.features; h += simt::kWarp)
      args.y[row * args.features + h] = h < args.width ? args.x[row * args.width + h] : static_cast<Element>(1.0F);
  }

  template <int kWidth, typename Element>
  __device__ __forceinline__ static void backward(const Backward<Element>& args, int64_t row) {
    for (int64_t h = simt::lane(); h < args.width; h += simt::kWarp)
      args.dx[row * args.width + h] = args.dy[row * args.features + h];
  }
};

template <typename Formula, typename Element, int kWidth>
__global__ void feature_map_forward_kernel(Forward<Element> args) {
  const int64_t row = simt::my_row<true>();
  if (row < args.rows) Formula::template forward<kWidth>(args, row);
}

template <typename Formula, typename Element, int kWidth>
__global__ void feature_map_backward_kernel(Backward<Element> args) {
  const int64_t row = simt::my_row<true>();
  if (row < args.rows) Formula::template backward<kWidth>(args, row);
}

// call(a value of the formula's type, Access<...>()), of 16 bytes where `vectorised`: all rows are aligned so.
template <typename Element, typename Call>
void with_formula(FeatureFormula formula, bool vectorised, const Call& call) {
  const auto with = [&](auto value) {
    simt::with_width<Element>(vectorised, [&](auto access) { call(value, access); });
  };
  switch (formula) {
    case FeatureFormula::kExponential:
      return with(Exponential());
    case FeatureFormula::kWave:
      return with(Wave());
    case FeatureFormula::kProducts:
      return call(Products(), simt::Access<Element, 1>());
    case FeatureFormula::kWithOne:
      return call(WithOne(), simt::Access<Element, 1>());
  }
}

int64_t columns_of(ConstTensorView view) { return view.empty() ? 0 : view.shape[1]; }

}  // namespace

void feature_map_forward(Queue& queue, const FeatureMapForward& args) {
  const FeatureMapInputs& in = args.inputs;
  const DType dtype = args.y.dtype;
  const int64_t width = columns_of(in.x);
  const int64_t projected = columns_of(in.projections);
  const bool vectorised =
      simt::is_vectorisable(dtype, width, {in.x}) && simt::is_vectorisable(dtype, projected, {in.projections, args.y});
  simt::with_element(dtype, [&](auto element) {
    using Element = decltype(element);
    with_formula<Element>(in.formula, vectorised, [&](auto formula, auto access) {
      simt::launch(queue.cuda(), "feature_map_forward", simt::launch_of_warp_rows(args.y.shape[0]),
                   feature_map_forward_kernel<decltype(formula), Element, decltype(access)::kWidth>,
                   Forward<Element>{.x = simt::data_of<Element>(in.x),
                                    .projections = simt::data_of<Element>(in.projections),
                                    .y = args.y.as<Element>(),
                                    .rows = args.y.shape[0],
                                    .width = width,
                                    .projected = projected,
                                    .features = args.y.shape[1],
                                    .shifts = in.shifts,
                                    .scale = in.scale});
    });
  });
}

void feature_map_backward(Queue& queue, const FeatureMapBackward& args) {
  const FeatureMapInputs& in = args.inputs;
  const DType dtype = args.dy.dtype;
  const int64_t width = columns_of(in.x);
  const int64_t projected = columns_of(in.projections);
  const ConstTensorView y = in.formula == FeatureFormula::kExponential ? args.y : ConstTensorView{};
  const bool vectorised = simt::is_vectorisable(dtype, width, {in.x, args.dx}) &&
                          simt::is_vectorisable(dtype, projected, {in.projections, y, args.dy, args.dprojections});
  simt::with_element(dtype, [&](auto element) {
    using Element = decltype(element);
    with_formula<Element>(in.formula, vectorised, [&](auto formula, auto access) {
      simt::launch(queue.cuda(), "feature_map_backward", simt::launch_of_warp_rows(args.dy.shape[0]),
                   feature_map_backward_kernel<decltype(formula), Element, decltype(access)::kWidth>,
                   Backward<Element>{.x = simt::data_of<Element>(in.x),
                                     .projections = simt::data_of<Element>(in.projections),
                                     .y = simt::data_of<Element>(y),
                                     .dy = args.dy.as<Element>(),
                                     .dx = simt::data_of<Element>(args.dx),
                                     .dprojections = simt::data_of<Element>(args.dprojections),
                                     .rows = args.dy.shape[0],
                                     .width = width,
                                     .projected = projected,
                                     .features = args.dy.shape[1],
                                     .shifts = in.shifts,
                                     .scale = in.scale});
    });
  });
}

}  // namespace segue::kernels::cuda
