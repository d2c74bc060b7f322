// Forward: a warp to each short row, a block to each long one, which reads its logits once. Backward: by tiles of
// columns, so that the bias's gradient is summed in passing.
#include <cmath>

#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/softmax_sum.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int64_t kWarpColumns = 1024;
constexpr int kRowThreads = 512;

__device__ __forceinline__ SoftmaxSum joined_over_warp(SoftmaxSum mine) {
  for (int mask = simt::kWarp / 2; mask > 0; mask /= 2)
    mine = joined(mine, {simt::shuffle_xor(mine.largest, mask), simt::shuffle_xor(mine.sum, mask)});
  return mine;
}

__device__ __forceinline__ SoftmaxSum joined_over_block(SoftmaxSum mine) {
  auto& of_warps = simt::static_shared<float[2][simt::kMaxWarps], 0>();
  mine = joined_over_warp(mine);
  if (simt::lane() == 0) {
    of_warps[0][simt::warp()] = mine.largest;
    of_warps[1][simt::warp()] = mine.sum;
  }
  simt::sync_block();
  const bool has_warp = simt::lane() < simt::block_threads() / simt::kWarp;
  return joined_over_warp(has_warp ? SoftmaxSum{of_warps[0][simt::lane()], of_warps[1][simt::lane()]} : SoftmaxSum{});
}

struct Larger {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// logits[column...] + bias[column...] as floats; no bias when null.
template <int kWidth, typename Element>
__device__ __forceinline__ void load_biased(const Element* logits, const float* bias, int64_t column,
                                            float (&z)[kWidth]) {
  simt::load(logits + column, z);
  if (bias == nullptr) return;
  float b[kWidth];
  simt::load(bias + column, b);
  for (int k = 0; k < kWidth; ++k) z[k] += b[k];
}

template <typename Element>
struct ForwardArguments {
  const Element* logits;
  const float* bias;  // or null
  const int32_t* targets;
  float* nll;
  float* lse;
  float* margin;  // or null
  int64_t rows;
  int64_t columns;
};

template <typename Element, int kWidth, bool kWarpRow>
__global__ void __launch_bounds__(kRowThreads) cross_entropy_forward_kernel(ForwardArguments<Element> args) {
  const int64_t row = simt::my_row<kWarpRow>();
  if (row >= args.rows) return;
  const int place = simt::place_in_row<kWarpRow>();
  const int places = simt::places_of_row<kWarpRow>();
  const Element* logits = args.logits + row * args.columns;
  const int32_t target = args.targets[row];
  const bool has_margin = args.margin != nullptr;
  SoftmaxSum mine;
  float others = -INFINITY;  // the largest of the classes beside the target
  for (int64_t column = place * kWidth; column < args.columns; column += places * kWidth) {
    float z[kWidth];
    load_biased(logits, args.bias, column, z);
    SoftmaxSum piece;
    for (int k = 0; k < kWidth; ++k) piece.largest = fmaxf(piece.largest, z[k]);
    for (int k = 0; k < kWidth; ++k) piece.sum += expf(z[k] - piece.largest);
    mine = joined(mine, piece);
    if (!has_margin) continue;
    for (int k = 0; k < kWidth; ++k) others = column + k == target ? others : fmaxf(others, z[k]);
  }
  mine = kWarpRow ? joined_over_warp(mine) : joined_over_block(mine);
  if (has_margin)
    others = kWarpRow ? simt::reduce_warp(others, Larger()) : simt::reduce_block(others, -INFINITY, Larger());
  if (place != 0) return;
  float nll = 0.0F;
  float lse = 0.0F;
  float margin = 0.0F;
  if (target >= 0) {
    float own[1];
    load_biased(logits, args.bias, target, own);
    const float log_sum = logf(mine.sum);
    lse = mine.largest + log_sum;
    nll = (mine.largest - own[0]) + log_sum;
    margin = std::isnan(nll) ? nll : own[0] - others;
  }
  args.nll[row] = nll;
  args.lse[row] = lse;
  if (has_margin) args.margin[row] = margin;
}

// Writes the gradient over the logits; its terms are the bias's gradient.
template <typename Element>
struct GradientTerms {
  static constexpr int kSums = 1;
  Element* logits;
  const float* bias;  // or null
  const int32_t* targets;
  const float* lse;
  float scale;
  int64_t columns;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t column, float (&sums)[1][kWidth]) const {
    float z[kWidth];
    load_biased(logits + row * columns, bias, column, z);
    const int32_t target = targets[row];
    for (int k = 0; k < kWidth; ++k) {
      const float hit = column + k == target ? 1.0F : 0.0F;
      z[k] = target < 0 ? 0.0F : scale * (expf(z[k] - lse[row]) - hit);
      sums[0][k] += z[k];
    }
    simt::store(logits + row * columns + column, z);
  }
};

}  // namespace

void cross_entropy_forward(Queue& queue, const CrossEntropyForward& args) {
  const int64_t rows = args.logits.shape[0];
  const int64_t columns = args.logits.shape[1];
  if (args.logits.elements() == 0) return;
  const bool warp_rows = columns <= kWarpColumns;
  const simt::Launch shape =
      warp_rows ? simt::launch_of_warp_rows(rows) : simt::Launch{.x = rows, .threads = kRowThreads};
  simt::with_access(args.logits.dtype, columns, {args.logits, args.bias}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "cross_entropy_forward", shape,
                 warp_rows ? cross_entropy_forward_kernel<Element, kWidth, true>
                           : cross_entropy_forward_kernel<Element, kWidth, false>,
                 ForwardArguments<Element>{.logits = args.logits.as<Element>(),
                                           .bias = simt::data_of<float>(args.bias),
                                           .targets = args.targets.as<int32_t>(),
                                           .nll = args.nll.as<float>(),
                                           .lse = args.lse.as<float>(),
                                           .margin = simt::data_of<float>(args.margin),
                                           .rows = rows,
                                           .columns = columns});
  });
}

void cross_entropy_backward(Queue& queue, const CrossEntropyBackward& args) {
  const int64_t columns = args.logits.shape[1];
  if (args.logits.elements() == 0) return;
  simt::with_access(args.logits.dtype, columns, {args.logits, args.bias}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    const GradientTerms<Element> terms{.logits = args.logits.as<Element>(),
                                       .bias = simt::data_of<float>(args.bias),
                                       .targets = args.targets.as<int32_t>(),
                                       .lse = args.lse.as<float>(),
                                       .scale = args.scale,
                                       .columns = columns};
    simt::add_column_sums<decltype(access)::kWidth>(queue.cuda(), "cross_entropy_backward", terms, args.logits.shape[0],
                                                    columns, {simt::data_of<float>(args.dbias)});
  });
}

}  // namespace segue::kernels::cuda
