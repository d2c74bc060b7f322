// A warp to each row, which is read once and held in registers; the sums for the gain in a pass of their own before dx
// may overwrite dy.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kHeldElements = static_cast<int>(kMaxHeadNormWidth) / simt::kWarp;  // of a row, by each lane

// call(a value of the activation's type)
template <typename Call>
void with_feature(Feature feature, const Call& call) {
  switch (feature) {
    case Feature::kIdentity:
      return call(Identity());
    case Feature::kSilu:
      return call(Silu());
    case Feature::kRelu:
      return call(Relu());
    case Feature::kEluPlusOne:
      return call(EluPlusOne());
  }
}

template <typename Element>
struct Inputs {
  const Element* x;
  const float* gain;    // or null
  const Element* gate;  // or null
  float epsilon;
  float terms;  // what a row's sums of products are divided by
  int64_t rows;
  int64_t columns;

  __device__ __forceinline__ float gain_at(int64_t column) const { return gain == nullptr ? 1.0F : gain[column]; }
};

// The columns that a lane holds: call(i, column) for each piece of kWidth inside the row.
template <int kWidth, typename Call>
__device__ __forceinline__ void for_each_piece(int64_t columns, const Call& call) {
#pragma unroll  // what is held per piece lies in registers only where `i` is a constant
  for (int i = 0; i < kHeldElements / kWidth; ++i) {
    const int64_t column = (int64_t{i} * simt::kWarp + simt::lane()) * kWidth;
    if (column < columns) call(i, column);
  }
}

// silu(gate) of a piece, 1 without.
template <int kWidth, typename Element>
__device__ __forceinline__ void load_gates(const Inputs<Element>& in, int64_t element, float (&gates)[kWidth]) {
  if (in.gate != nullptr) simt::load(in.gate + element, gates);
  for (int k = 0; k < kWidth; ++k) gates[k] = in.gate == nullptr ? 1.0F : Silu::of(gates[k]);
}

template <typename Element>
struct Forward {
  Inputs<Element> in;
  Element* y;
  float* scale;  // or null: no norm
};

template <typename F, typename Element, int kWidth>
__global__ void head_norm_forward_kernel(Forward<Element> args) {
  const Inputs<Element>& in = args.in;
  const int64_t row = simt::my_row<true>();
  if (row >= in.rows) return;
  const int64_t first = row * in.columns;
  float features[kHeldElements / kWidth][kWidth];
  float squares = 0.0F;
  for_each_piece<kWidth>(in.columns, [&](int i, int64_t column) {
    simt::load(in.x + first + column, features[i]);
    for (int k = 0; k < kWidth; ++k) {
      features[i][k] = F::of(features[i][k]);
      squares += features[i][k] * features[i][k];
    }
  });
  float scale = 1.0F;
  if (args.scale != nullptr) {
    scale = 1.0F / sqrtf(simt::reduce_warp(squares, simt::Sum()) / in.terms + in.epsilon);
    if (simt::lane() == 0) args.scale[row] = scale;
  }
  for_each_piece<kWidth>(in.columns, [&](int i, int64_t column) {
    float gates[kWidth];
    load_gates(in, first + column, gates);
    for (int k = 0; k < kWidth; ++k) features[i][k] *= scale * in.gain_at(column + k) * gates[k];
    simt::store(args.y + first + column, features[i]);
  });
}

template <typename Element>
struct Backward {
  Inputs<Element> in;
  const float* scale;  // or null
  const Element* dy;
  Element* dx;
  Element* dgate;  // or null
};

// Everything is read of a piece before anything of it is written: dx may be dy.
template <typename F, typename Element, int kWidth>
__global__ void head_norm_backward_kernel(Backward<Element> args) {
  const Inputs<Element>& in = args.in;
  const int64_t row = simt::my_row<true>();
  if (row >= in.rows) return;
  const int64_t first = row * in.columns;
  const float scale = args.scale == nullptr ? 1.0F : args.scale[row];
  float x[kHeldElements / kWidth][kWidth];
  float dy[kHeldElements / kWidth][kWidth];
  float products = 0.0F;
  for_each_piece<kWidth>(in.columns, [&](int i, int64_t column) {
    float gates[kWidth];
    load_gates(in, first + column, gates);
    simt::load(in.x + first + column, x[i]);
    simt::load(args.dy + first + column, dy[i]);
    for (int k = 0; k < kWidth; ++k) products += dy[i][k] * in.gain_at(column + k) * gates[k] * F::of(x[i][k]);
  });
  const float gathered =
      args.scale == nullptr ? 0.0F : scale * scale * simt::reduce_warp(products, simt::Sum()) / in.terms;
  for_each_piece<kWidth>(in.columns, [&](int i, int64_t column) {
    float gates[kWidth];
    load_gates(in, first + column, gates);
    if (args.dgate != nullptr) {
      float dgate[kWidth];
      simt::load(in.gate + first + column, dgate);
      for (int k = 0; k < kWidth; ++k)
        dgate[k] = dy[i][k] * F::of(x[i][k]) * scale * in.gain_at(column + k) * Silu::slope(dgate[k]);
      simt::store(args.dgate + first + column, dgate);
    }
    for (int k = 0; k < kWidth; ++k) {
      const float e = dy[i][k] * in.gain_at(column + k) * gates[k];
      dy[i][k] = scale * (e - F::of(x[i][k]) * gathered) * F::slope(x[i][k]);
    }
    simt::store(args.dx + first + column, dy[i]);
  });
}

template <typename F, typename Element>
struct GainTerms {
  static constexpr int kSums = 1;
  Inputs<Element> in;
  const float* scale;  // or null
  const Element* dy;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t column, float (&sums)[1][kWidth]) const {
    const int64_t first = row * in.columns + column;
    float x[kWidth];
    float gradient[kWidth];
    float gates[kWidth];
    simt::load(in.x + first, x);
    simt::load(dy + first, gradient);
    load_gates(in, first, gates);
    for (int k = 0; k < kWidth; ++k)
      sums[0][k] += gradient[k] * F::of(x[k]) * (scale == nullptr ? 1.0F : scale[row]) * gates[k];
  }
};

template <typename Element>
Inputs<Element> inputs_of(const HeadNormInputs& in) {
  return {.x = in.x.as<Element>(),
          .gain = simt::data_of<float>(in.gain),
          .gate = simt::data_of<Element>(in.gate),
          .epsilon = in.epsilon,
          .terms = in.norm == HeadNorm::kRootMeanSquare ? static_cast<float>(in.x.shape[1]) : 1.0F,
          .rows = in.x.shape[0],
          .columns = in.x.shape[1]};
}

}  // namespace

void head_norm_forward(Queue& queue, const HeadNormForward& args) {
  const HeadNormInputs& in = args.inputs;
  simt::with_access(in.x.dtype, in.x.shape[1], {in.x, in.gate, args.y}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    with_feature(in.feature, [&](auto feature) {
      simt::launch(
          queue.cuda(), "head_norm_forward", simt::launch_of_warp_rows(in.x.shape[0]),
          head_norm_forward_kernel<decltype(feature), Element, kWidth>,
          Forward<Element>{
              .in = inputs_of<Element>(in), .y = args.y.as<Element>(), .scale = simt::data_of<float>(args.scale)});
    });
  });
}

void head_norm_backward(Queue& queue, const HeadNormBackward& args) {
  const HeadNormInputs& in = args.inputs;
  simt::with_access(in.x.dtype, in.x.shape[1], {in.x, in.gate, args.dy, args.dx, args.dgate}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    with_feature(in.feature, [&](auto feature) {
      using F = decltype(feature);
      const Backward<Element> arguments{.in = inputs_of<Element>(in),
                                        .scale = simt::data_of<float>(args.scale),
                                        .dy = args.dy.as<Element>(),
                                        .dx = args.dx.as<Element>(),
                                        .dgate = simt::data_of<Element>(args.dgate)};
      if (!args.dgain.empty()) {
        simt::add_column_sums<kWidth>(
            queue.cuda(), "head_norm_backward",
            GainTerms<F, Element>{.in = arguments.in, .scale = arguments.scale, .dy = arguments.dy}, in.x.shape[0],
            in.x.shape[1], {args.dgain.as<float>()});
      }
      simt::launch(queue.cuda(), "head_norm_backward", simt::launch_of_warp_rows(in.x.shape[0]),
                   head_norm_backward_kernel<F, Element, kWidth>, arguments);
    });
  });
}

}  // namespace segue::kernels::cuda
