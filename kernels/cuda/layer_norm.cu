// A warp to each short row, a block to each long one; a row is read once and held in registers. Gradients of gain and
// bias, which sum over rows, in a pass of their own before dx may overwrite dy.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/dropout_mask.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kHeldElements = 16;  // of a row, by each thread
constexpr int kWarpColumns = simt::kWarp * kHeldElements;
constexpr int kMaxThreads = 512;
static_assert(kMaxNormWidth == kMaxThreads * kHeldElements);

// The elements that a thread holds of its row: piece i begins at column(i), if it is inside.
template <int kWidth, bool kWarpRow>
struct RowPlace {
  static constexpr int kPieces = kHeldElements / kWidth;
  int64_t columns;

  __device__ __forceinline__ int64_t column(int i) const {
    const int place = simt::place_in_row<kWarpRow>();
    const int places = simt::places_of_row<kWarpRow>();
    return (int64_t{i} * places + place) * kWidth;
  }
  // call(i, column) for each piece inside the row.
  template <typename Call>
  __device__ __forceinline__ void for_each(const Call& call) const {
#pragma unroll  // what is held per piece lies in registers only where `i` is a constant
    for (int i = 0; i < kPieces; ++i) {
      if (column(i) < columns) call(i, column(i));
    }
  }
};

template <typename Element>
struct ForwardArguments {
  const Element* x;
  const Element* branch;  // or null
  simt::DropoutMask mask;
  const float* gain;
  const float* bias;
  float epsilon;
  Element* sum;
  Element* y;
  float* mean;
  float* rstd;
  int64_t rows;
  int64_t columns;
};

// s of the piece that begins at `element`, as it is saved.
template <int kWidth, typename Element>
__device__ __forceinline__ void residual_sum(const ForwardArguments<Element>& args, int64_t element,
                                             float (&s)[kWidth]) {
  simt::load(args.x + element, s);
  if (args.branch == nullptr) return;
  float branch[kWidth];
  float mask[kWidth];
  simt::load(args.branch + element, branch);
  args.mask.multipliers(element, mask);
  for (int k = 0; k < kWidth; ++k) s[k] = simt::rounded<Element>(fmaf(branch[k], mask[k], s[k]));
  simt::store(args.sum + element, s);
}

template <typename Element, int kWidth, bool kWarpRow>
__global__ void __launch_bounds__(kMaxThreads) layer_norm_forward_kernel(ForwardArguments<Element> args) {
  using Place = RowPlace<kWidth, kWarpRow>;
  const Place place{args.columns};
  const int64_t row = simt::my_row<kWarpRow>();
  if (row >= args.rows) return;
  const int64_t first = row * args.columns;
  float s[Place::kPieces][kWidth];
  float total = 0.0F;
  place.for_each([&](int i, int64_t column) {
    residual_sum(args, first + column, s[i]);
    for (int k = 0; k < kWidth; ++k) total += s[i][k];
  });
  const float mean = simt::row_sum<kWarpRow>(total) / static_cast<float>(args.columns);
  float squares = 0.0F;
  place.for_each([&](int i, int64_t) {
    for (int k = 0; k < kWidth; ++k) squares += (s[i][k] - mean) * (s[i][k] - mean);
  });
  const float variance = simt::row_sum<kWarpRow>(squares) / static_cast<float>(args.columns);
  const float rstd = 1.0F / sqrtf(variance + args.epsilon);
  place.for_each([&](int i, int64_t column) {
    float gain[kWidth];
    float y[kWidth];
    simt::load(args.gain + column, gain);
    simt::load(args.bias + column, y);
    for (int k = 0; k < kWidth; ++k) y[k] = fmaf((s[i][k] - mean) * rstd, gain[k], y[k]);
    simt::store(args.y + first + column, y);
  });
  if (place.column(0) == 0) {
    args.mean[row] = mean;
    args.rstd[row] = rstd;
  }
}

template <typename Element>
struct BackwardArguments {
  const Element* dy;
  const Element* ds_other;  // or null
  const Element* sum;
  const float* mean;
  const float* rstd;
  const float* gain;
  simt::DropoutMask mask;
  Element* dx;  // or null
  bool accumulate_dx;
  Element* dbranch;  // or null
  int64_t rows;
  int64_t columns;
};

// Everything is read of a piece before anything of it is written, so outputs may be inputs.
template <int kWidth, typename Element>
__device__ __forceinline__ void write_gradients(const BackwardArguments<Element>& args, int64_t element,
                                                float (&ds)[kWidth]) {
  float other[kWidth];
  if (args.ds_other != nullptr) {
    simt::load(args.ds_other + element, other);
    for (int k = 0; k < kWidth; ++k) ds[k] += other[k];
  }
  if (args.dx != nullptr) {
    float dx[kWidth] = {};
    if (args.accumulate_dx) simt::load(args.dx + element, dx);
    for (int k = 0; k < kWidth; ++k) dx[k] += ds[k];
    simt::store(args.dx + element, dx);
  }
  if (args.dbranch != nullptr) {
    float mask[kWidth];
    args.mask.multipliers(element, mask);
    for (int k = 0; k < kWidth; ++k) mask[k] *= ds[k];
    simt::store(args.dbranch + element, mask);
  }
}

template <typename Element, int kWidth, bool kWarpRow>
__global__ void __launch_bounds__(kMaxThreads) layer_norm_backward_kernel(BackwardArguments<Element> args) {
  using Place = RowPlace<kWidth, kWarpRow>;
  const Place place{args.columns};
  const int64_t row = simt::my_row<kWarpRow>();
  if (row >= args.rows) return;
  const int64_t first = row * args.columns;
  const float mean = args.mean[row];
  const float rstd = args.rstd[row];
  float g[Place::kPieces][kWidth];
  float n[Place::kPieces][kWidth];
  float g_total = 0.0F;
  float gn_total = 0.0F;
  place.for_each([&](int i, int64_t column) {
    float gain[kWidth];
    simt::load(args.gain + column, gain);
    simt::load(args.dy + first + column, g[i]);
    simt::load(args.sum + first + column, n[i]);
    for (int k = 0; k < kWidth; ++k) {
      g[i][k] *= gain[k];
      n[i][k] = (n[i][k] - mean) * rstd;
      g_total += g[i][k];
      gn_total += g[i][k] * n[i][k];
    }
  });
  const float g_mean = simt::row_sum<kWarpRow>(g_total) / static_cast<float>(args.columns);
  const float gn_mean = simt::row_sum<kWarpRow>(gn_total) / static_cast<float>(args.columns);
  place.for_each([&](int i, int64_t column) {
    for (int k = 0; k < kWidth; ++k) g[i][k] = rstd * (g[i][k] - g_mean - n[i][k] * gn_mean);
    write_gradients(args, first + column, g[i]);
  });
}

// dy * n for the gain, dy for the bias.
template <typename Element>
struct ParameterTerms {
  static constexpr int kSums = 2;
  const Element* dy;
  const Element* sum;
  const float* mean;
  const float* rstd;
  int64_t columns;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t column, float (&sums)[2][kWidth]) const {
    float gradient[kWidth];
    float s[kWidth];
    simt::load(dy + row * columns + column, gradient);
    simt::load(sum + row * columns + column, s);
    for (int k = 0; k < kWidth; ++k) {
      sums[0][k] += gradient[k] * ((s[k] - mean[row]) * rstd[row]);
      sums[1][k] += gradient[k];
    }
  }
};

simt::Launch shape_for(int64_t rows, int64_t columns) {
  if (columns <= kWarpColumns) return simt::launch_of_warp_rows(rows);
  const int64_t warps = simt::divide_up(columns, kWarpColumns);
  return {.x = rows, .threads = static_cast<int>(warps) * simt::kWarp};
}

}  // namespace

void layer_norm_forward(Queue& queue, const LayerNormForward& args) {
  if (args.x.elements() == 0) return;
  const auto run = [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    const ForwardArguments<Element> arguments{.x = args.x.as<Element>(),
                                              .branch = simt::data_of<Element>(args.branch),
                                              .mask = simt::mask_of(args.dropout),
                                              .gain = args.gain.as<float>(),
                                              .bias = args.bias.as<float>(),
                                              .epsilon = args.epsilon,
                                              .sum = simt::data_of<Element>(args.sum),
                                              .y = args.y.as<Element>(),
                                              .mean = args.mean.as<float>(),
                                              .rstd = args.rstd.as<float>(),
                                              .rows = args.x.shape[0],
                                              .columns = args.x.shape[1]};
    simt::launch(queue.cuda(), "layer_norm_forward", shape_for(args.x.shape[0], args.x.shape[1]),
                 args.x.shape[1] <= kWarpColumns ? layer_norm_forward_kernel<Element, kWidth, true>
                                                 : layer_norm_forward_kernel<Element, kWidth, false>,
                 arguments);
  };
  simt::with_access(args.x.dtype, args.x.shape[1], {args.x, args.branch, args.gain, args.bias, args.sum, args.y}, run);
}

void layer_norm_backward(Queue& queue, const LayerNormBackward& args) {
  const int64_t rows = args.dy.shape[0];
  const int64_t columns = args.dy.shape[1];
  if (args.dy.elements() == 0) return;
  const auto run = [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    const ParameterTerms<Element> terms{.dy = args.dy.as<Element>(),
                                        .sum = args.sum.as<Element>(),
                                        .mean = args.mean.as<float>(),
                                        .rstd = args.rstd.as<float>(),
                                        .columns = columns};
    if (!args.dgain.empty())
      simt::add_column_sums<kWidth>(queue.cuda(), "layer_norm_backward", terms, rows, columns,
                                    {args.dgain.as<float>(), args.dbias.as<float>()});
    if (args.dx.empty() && args.dbranch.empty()) return;
    const BackwardArguments<Element> arguments{.dy = terms.dy,
                                               .ds_other = simt::data_of<Element>(args.ds_other),
                                               .sum = terms.sum,
                                               .mean = terms.mean,
                                               .rstd = terms.rstd,
                                               .gain = args.gain.as<float>(),
                                               .mask = simt::mask_of(args.dropout),
                                               .dx = simt::data_of<Element>(args.dx),
                                               .accumulate_dx = args.accumulate_dx,
                                               .dbranch = simt::data_of<Element>(args.dbranch),
                                               .rows = rows,
                                               .columns = columns};
    simt::launch(queue.cuda(), "layer_norm_backward", shape_for(rows, columns),
                 columns <= kWarpColumns ? layer_norm_backward_kernel<Element, kWidth, true>
                                         : layer_norm_backward_kernel<Element, kWidth, false>,
                 arguments);
  };
  simt::with_access(args.dy.dtype, columns, {args.dy, args.ds_other, args.sum, args.gain, args.dx, args.dbranch}, run);
}

}  // namespace segue::kernels::cuda
