// Blocks of tokens, for as many channels of a stream as stay in the first-level cache; every row is read once. Backward
// follows the forward, S-1 tokens behind: where the gradients of all that a row went into are there.
#include <algorithm>
#include <array>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kSliceChannels = 64;
constexpr int64_t kBlockTokens = 32;

// Channels of one stream: a piece of work, to which all that is written of them belongs.
struct Slice {
  int64_t stream, first, count, channels;

  int64_t at(int64_t rows, int64_t row) const { return (stream * rows + row) * channels + first; }
};

int64_t slices_of(int64_t channels) { return (channels + kSliceChannels - 1) / kSliceChannels; }

// Piece `number` of all, those of a stream one after another.
Slice slice_at(int64_t number, int64_t channels) {
  const int64_t first = number % slices_of(channels) * kSliceChannels;
  return {number / slices_of(channels), first, std::min(kSliceChannels, channels - first), channels};
}

using SliceRow = std::array<float, kSliceChannels>;
template <int64_t kTaps>
using TapRows = std::array<SliceRow, kTaps>;

// Zeros behind them, up to a whole vector.
template <typename A>
void load_row(const A* from, int64_t count, SliceRow& to) {
#pragma omp simd
  for (int64_t c = 0; c < count; ++c) to[c] = load(from + c);
  std::fill(to.begin() + count, to.begin() + padded(count), 0.0F);
}

// A tensor's kTaps - 1 rows of the slice; zeros without a tensor.
template <int64_t kTaps, typename To>
void load_boundary(ConstTensorView from, const Slice& slice, To& to) {
  for (int64_t row = 0; row < kTaps - 1; ++row) {
    if (from.empty()) {
      to[row].fill(0.0F);
    } else {
      load_row(from.as<float>() + slice.at(kTaps - 1, row), slice.count, to[row]);
    }
  }
}

// A block's rows behind the kTaps - 1 before it. A tap j of the block's token t sees row t + j.
template <int64_t kTaps>
struct BlockRows {
  std::array<SliceRow, kTaps - 1 + kBlockTokens> rows;

  SliceRow& of_token(int64_t t) { return rows[kTaps - 1 + t]; }
  // The next block comes after `tokens` of this one.
  void advance(int64_t tokens) { std::copy_n(rows.begin() + tokens, kTaps - 1, rows.begin()); }
};

template <int64_t kTaps>
TapRows<kTaps> taps_of(ConstTensorView taps, const Slice& slice) {
  TapRows<kTaps> rows;
  const float* from = taps.as<float>() + slice.first * kTaps;
  for (int64_t j = 0; j < kTaps; ++j) {
    for (int64_t c = 0; c < slice.count; ++c) rows[j][c] = from[c * kTaps + j];
    std::fill(rows[j].begin() + slice.count, rows[j].begin() + padded(slice.count), 0.0F);
  }
  return rows;
}

template <typename A, int64_t kTaps>
void load_block(const A* x, const Slice& slice, int64_t tokens, int64_t first, int64_t count, BlockRows<kTaps>& block) {
  for (int64_t t = 0; t < count; ++t) load_row(x + slice.at(tokens, first + t), slice.count, block.of_token(t));
}

// z of the block's token t, one channel's.
template <int64_t kTaps>
float convolved(const TapRows<kTaps>& taps, const BlockRows<kTaps>& x, int64_t t, int64_t c) {
  float z = 0.0F;
#pragma GCC unroll 8
  for (int64_t j = 0; j < kTaps; ++j) z += taps[j][c] * x.rows[t + j][c];
  return z;
}

template <typename A, int64_t kTaps>
void convolve(const ShortConvolutionForward& args, const Slice& slice) {
  const ShortConvolutionInputs& in = args.inputs;
  const int64_t tokens = in.x.shape[1];
  const TapRows<kTaps> taps = taps_of<kTaps>(in.taps, slice);
  BlockRows<kTaps> x;
  load_boundary<kTaps>(in.before, slice, x.rows);
  for (int64_t first = 0; first < tokens; first += kBlockTokens) {
    const int64_t count = std::min(kBlockTokens, tokens - first);
    load_block(in.x.as<A>(), slice, tokens, first, count, x);
    for (int64_t t = 0; t < count; ++t) {
      SliceRow y;
#pragma omp simd
      for (int64_t c = 0; c < padded(slice.count); ++c) {
        const float z = convolved<kTaps>(taps, x, t, c);
        y[c] = z * sigmoid(z);
      }
      store_row(args.y.as<A>() + slice.at(tokens, first + t), y.data(), slice.count);
    }
    x.advance(count);
  }
  for (int64_t row = 0; row < kTaps - 1; ++row)
    std::copy_n(x.rows[row].data(), slice.count, args.after.as<float>() + slice.at(kTaps - 1, row));
}

template <typename A, int64_t kTaps>
class BackwardSlice {
 public:
  BackwardSlice(const ShortConvolutionBackward& args, const Slice& slice)
      : args_(args),
        slice_(slice),
        tokens_(args.dy.shape[1]),
        width_(padded(slice.count)),
        taps_(taps_of<kTaps>(args.inputs.taps, slice)) {
    load_boundary<kTaps>(args.inputs.before, slice, x_.rows);
    load_boundary<kTaps>({}, slice, dz_.rows);
    load_boundary<kTaps>(args.dafter, slice, dafter_);  // before dbefore may overwrite it
  }

  // Fills the sums for the taps, over the slice's tokens.
  void run(TapRows<kTaps>& dtaps) {
    for (SliceRow& sums : dtaps) sums.fill(0.0F);
    for (int64_t first = 0; first < tokens_; first += kBlockTokens) {
      const int64_t count = std::min(kBlockTokens, tokens_ - first);
      load_block(args_.inputs.x.as<A>(), slice_, tokens_, first, count, x_);
      for (int64_t t = 0; t < count; ++t) differentiate(first, t);
      add_products(count, dtaps);
      for (int64_t t = 0; t < count; ++t) store_row_gradient(first + t, convolved_back(t));
      x_.advance(count);
      dz_.advance(count);
    }
    for (int64_t t = 0; t < kTaps - 1; ++t) dz_.of_token(t).fill(0.0F);
    for (int64_t t = 0; t < kTaps - 1; ++t) {
      SliceRow sums = convolved_back(t);
      add_to(sums.data(), dafter_[t].data(), width_);
      store_row_gradient(tokens_ + t, sums);
    }
  }

 private:
  void differentiate(int64_t first, int64_t t) {
    SliceRow dy;
    load_row(args_.dy.as<A>() + slice_.at(tokens_, first + t), slice_.count, dy);
    SliceRow& dz = dz_.of_token(t);
#pragma omp simd
    for (int64_t c = 0; c < width_; ++c) {
      const float z = convolved<kTaps>(taps_, x_, t, c);
      const float s = sigmoid(z);
      dz[c] = dy[c] * s * (1.0F + z * (1.0F - s));
    }
  }

  // What the row kTaps - 1 tokens before the block's token t receives.
  SliceRow convolved_back(int64_t t) const {
    SliceRow sums;
#pragma omp simd
    for (int64_t c = 0; c < width_; ++c) {
      float sum = 0.0F;
#pragma GCC unroll 8
      for (int64_t j = 0; j < kTaps; ++j) sum += taps_[j][c] * dz_.rows[t + kTaps - 1 - j][c];
      sums[c] = sum;
    }
    return sums;
  }

  // The gradient of the row kTaps - 1 tokens before token t.
  void store_row_gradient(int64_t t, const SliceRow& gradient) const {
    if (t >= kTaps - 1) {
      store_row(args_.dx.as<A>() + slice_.at(tokens_, t - (kTaps - 1)), gradient.data(), slice_.count);
    } else if (!args_.dbefore.empty()) {
      store_row(args_.dbefore.as<float>() + slice_.at(kTaps - 1, t), gradient.data(), slice_.count);
    }
  }

  void add_products(int64_t count, TapRows<kTaps>& dtaps) {
    for (int64_t c = 0; c < width_; c += kLanes) {
      Vector sums[kTaps] = {};
      for (int64_t t = 0; t < count; ++t) {
        const Vector dz = load_vector(dz_.of_token(t).data() + c);
#pragma GCC unroll 8
        for (int64_t j = 0; j < kTaps; ++j) sums[j] += dz * load_vector(x_.rows[t + j].data() + c);
      }
#pragma GCC unroll 8
      for (int64_t j = 0; j < kTaps; ++j) store_vector(dtaps[j].data() + c, load_vector(dtaps[j].data() + c) + sums[j]);
    }
  }

  const ShortConvolutionBackward& args_;
  Slice slice_;
  int64_t tokens_, width_;
  TapRows<kTaps> taps_;
  BlockRows<kTaps> x_, dz_;
  TapRows<kTaps> dafter_;  // without the last row
};

template <typename A, int64_t kTaps>
void forward(const Queue& queue, const ShortConvolutionForward& args) {
  const Shape& x = args.inputs.x.shape;
  const int64_t slices = x[0] * slices_of(x[2]);
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, x.elements()))
  for (int64_t i = 0; i < slices; ++i) convolve<A, kTaps>(args, slice_at(i, x[2]));
}

template <typename A, int64_t kTaps>
void backward(const Queue& queue, const ShortConvolutionBackward& args) {
  const Shape& x = args.inputs.x.shape;
  const int64_t slices = x[0] * slices_of(x[2]);
#pragma omp parallel for ordered schedule(static, 1) num_threads(threads_for(queue, x.elements()))
  for (int64_t i = 0; i < slices; ++i) {
    const Slice slice = slice_at(i, x[2]);
    TapRows<kTaps> sums;
    BackwardSlice<A, kTaps>(args, slice).run(sums);
#pragma omp ordered
    {
      float* dtaps = args.dtaps.as<float>() + slice.first * kTaps;
      for (int64_t c = 0; c < slice.count; ++c) {
        for (int64_t j = 0; j < kTaps; ++j) dtaps[c * kTaps + j] += sums[j][c];
      }
    }
  }
}

// call<kTaps>() for as many taps.
template <int64_t kTaps = 2, typename Call>
void with_taps(int64_t taps, const Call& call) {
  if constexpr (kTaps < kMaxConvolutionTaps) {
    if (taps != kTaps) return with_taps<kTaps + 1>(taps, call);
  }
  call.template operator()<kTaps>();
}

}  // namespace

void short_convolution_forward(Queue& queue, const ShortConvolutionForward& args) {
  with_taps(args.inputs.taps.shape[1], [&]<int64_t kTaps>() {
    with_activations(args.inputs.x.dtype, [&]<typename A>() { forward<A, kTaps>(queue, args); });
  });
}

void short_convolution_backward(Queue& queue, const ShortConvolutionBackward& args) {
  with_taps(args.inputs.taps.shape[1], [&]<int64_t kTaps>() {
    with_activations(args.inputs.x.dtype, [&]<typename A>() { backward<A, kTaps>(queue, args); });
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
