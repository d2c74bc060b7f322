// A thread to a channel and a run of tokens, which keeps the last S rows in registers; the sums for the taps in a pass
// of their own. What may lie on its own input is written by the thread that reads it.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kRun = 16;                         // tokens
static_assert(kRun >= kMaxConvolutionTaps - 1);  // only a stream's first run sees rows of before

// Where a thread works, channels first.
struct Place {
  int64_t channel, run, stream;

  __device__ __forceinline__ Place(int64_t number, int64_t channels, int64_t runs)
      : channel(number % channels), run(number / channels % runs), stream(number / channels / runs) {}
};

__device__ __forceinline__ int64_t thread_number() { return int64_t{simt::block()} * kThreads + simt::thread(); }

__device__ __forceinline__ int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
__device__ __forceinline__ int64_t most(int64_t a, int64_t b) { return a < b ? b : a; }

template <int kTaps, typename Element>
struct Inputs {
  static constexpr int kBack = kTaps - 1;  // tokens that a token looks back
  const Element* x;
  const float* taps;
  const float* before;  // or null
  int64_t streams, tokens, channels;

  __device__ __forceinline__ int64_t at(int64_t stream, int64_t t, int64_t channel) const {
    return (stream * tokens + t) * channels + channel;
  }
  // Of before, after and their gradients.
  __device__ __forceinline__ int64_t boundary(int64_t stream, int64_t row, int64_t channel) const {
    return (stream * kBack + row) * channels + channel;
  }
  __device__ __forceinline__ float x_at(int64_t stream, int64_t t, int64_t channel) const {
    if (t >= 0) return simt::as_float(x[at(stream, t, channel)]);
    return before == nullptr ? 0.0F : before[boundary(stream, kBack + t, channel)];
  }
};

// The last kTaps of a channel's rows, the newest last.
template <int kTaps>
struct Recent {
  float rows[kTaps] = {};

  __device__ __forceinline__ void push(float row) {
#pragma unroll
    for (int j = 0; j + 1 < kTaps; ++j) rows[j] = rows[j + 1];
    rows[kTaps - 1] = row;
  }
};

// A channel's convolution, moved on token by token.
template <int kTaps, typename Element>
struct Convolution {
  const Inputs<kTaps, Element>& in;
  int64_t stream, channel;
  float taps[kTaps];
  Recent<kTaps> x;

  // `next` is the token that comes first.
  __device__ __forceinline__ Convolution(const Inputs<kTaps, Element>& inputs, int64_t of_stream, int64_t of_channel,
                                         int64_t next)
      : in(inputs), stream(of_stream), channel(of_channel) {
#pragma unroll
    for (int j = 0; j < kTaps; ++j) taps[j] = in.taps[channel * kTaps + j];
#pragma unroll
    for (int back = kTaps - 1; back > 0; --back) x.push(in.x_at(stream, next - back, channel));
  }

  __device__ __forceinline__ float z(int64_t t) {
    x.push(in.x_at(stream, t, channel));
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < kTaps; ++j) sum += taps[j] * x.rows[j];
    return sum;
  }
  __device__ __forceinline__ float dz(int64_t t, const Element* dy) {
    return simt::as_float(dy[in.at(stream, t, channel)]) * Silu::slope(z(t));
  }
};

template <int kTaps, typename Element>
struct Forward {
  Inputs<kTaps, Element> in;
  Element* y;
  float* after;
  int64_t runs;
};

template <int kTaps, typename Element>
__global__ void short_convolution_forward_kernel(Forward<kTaps, Element> args) {
  const Inputs<kTaps, Element>& in = args.in;
  const int64_t number = thread_number();
  if (number >= in.streams * args.runs * in.channels) return;
  const Place place(number, in.channels, args.runs);
  const int64_t first = place.run * kRun;
  Convolution<kTaps, Element> convolution(in, place.stream, place.channel, first);
  for (int64_t t = first; t < least(first + kRun, in.tokens); ++t)
    args.y[in.at(place.stream, t, place.channel)] = static_cast<Element>(Silu::of(convolution.z(t)));
  if (place.run > 0) return;
  for (int row = 0; row < in.kBack; ++row) {  // a row of before that is still in after moves to an earlier one
    args.after[in.boundary(place.stream, row, place.channel)] =
        in.x_at(place.stream, in.tokens - in.kBack + row, place.channel);
  }
}

template <int kTaps, typename Element>
struct Backward {
  Inputs<kTaps, Element> in;
  const Element* dy;
  const float* dafter;  // or null
  Element* dx;
  float* dbefore;  // or null
  int64_t runs;    // the first is that of the ends

  __device__ __forceinline__ float dafter_at(int64_t stream, int64_t row, int64_t channel) const {
    return dafter == nullptr || row < 0 ? 0.0F : dafter[in.boundary(stream, row, channel)];
  }
};

// The gradients of x's rows [begin, end) of the place's channel.
template <int kTaps, typename Element>
__device__ __forceinline__ void differentiate_rows(const Backward<kTaps, Element>& args, const Place& place,
                                                   int64_t begin, int64_t end) {
  const Inputs<kTaps, Element>& in = args.in;
  Convolution<kTaps, Element> convolution(in, place.stream, place.channel, begin);
  Recent<kTaps> dz;
  for (int64_t t = begin; t < end + in.kBack; ++t) {
    dz.push(t < in.tokens ? convolution.dz(t, args.dy) : 0.0F);
    const int64_t row = t - in.kBack;
    if (row < begin) continue;
    float sum = args.dafter_at(place.stream, t - in.tokens, place.channel);
#pragma unroll
    for (int j = 0; j < kTaps; ++j) sum += convolution.taps[j] * dz.rows[kTaps - 1 - j];
    args.dx[in.at(place.stream, row, place.channel)] = static_cast<Element>(sum);
  }
}

// The gradients of before's rows, the last first: a row that is still in after comes from an earlier one.
template <int kTaps, typename Element>
__device__ __forceinline__ void differentiate_before(const Backward<kTaps, Element>& args, const Place& place) {
  const Inputs<kTaps, Element>& in = args.in;
  Convolution<kTaps, Element> convolution(in, place.stream, place.channel, 0);
  float dz[kTaps - 1];
#pragma unroll
  for (int t = 0; t < kTaps - 1; ++t) dz[t] = t < in.tokens ? convolution.dz(t, args.dy) : 0.0F;
#pragma unroll
  for (int row = kTaps - 2; row >= 0; --row) {
    float sum = args.dafter_at(place.stream, row - in.tokens, place.channel);
#pragma unroll
    for (int j = 0; j <= row; ++j) sum += convolution.taps[j] * dz[row - j];
    args.dbefore[in.boundary(place.stream, row, place.channel)] = sum;
  }
}

template <int kTaps, typename Element>
__global__ void short_convolution_backward_kernel(Backward<kTaps, Element> args) {
  const Inputs<kTaps, Element>& in = args.in;
  const int64_t number = thread_number();
  if (number >= in.streams * args.runs * in.channels) return;
  const Place place(number, in.channels, args.runs);
  const int64_t inner = most(in.tokens - in.kBack, 0);  // rows that are not in after
  if (place.run > 0) {
    const int64_t begin = (place.run - 1) * kRun;
    differentiate_rows(args, place, begin, least(begin + kRun, inner));
  } else {
    differentiate_rows(args, place, inner, in.tokens);
    if (args.dbefore != nullptr) differentiate_before(args, place);
  }
}

// Of the taps; a row is a run of a stream.
template <int kTaps, typename Element>
struct TapTerms {
  static constexpr int kSums = kTaps;
  Inputs<kTaps, Element> in;
  const Element* dy;
  int64_t runs;

  template <int kWidth>
  __device__ __forceinline__ void add(int64_t row, int64_t channel, float (&sums)[kTaps][kWidth]) const {
    static_assert(kWidth == 1);
    const int64_t first = row % runs * kRun;
    Convolution<kTaps, Element> convolution(in, row / runs, channel, first);
    for (int64_t t = first; t < least(first + kRun, in.tokens); ++t) {
      const float dz = convolution.dz(t, dy);
#pragma unroll
      for (int j = 0; j < kTaps; ++j) sums[j][0] += dz * convolution.x.rows[j];
    }
  }
};

struct TapTotals {
  simt::MatrixTerms<float> terms;  // [parts, S, C]
  int64_t parts;
  int64_t channels;
  int64_t taps;
  float* dtaps;  // [C, S]
};

__global__ void tap_totals_kernel(TapTotals args) {
  simt::sum_tile<1>(args.terms, 0, args.parts, args.terms.columns, [&](int, int64_t column, float value) {
    args.dtaps[column % args.channels * args.taps + column / args.channels] += value;
  });
}

template <int kTaps, typename Element>
void add_tap_gradients(segue::cuda::Queue& queue, const char* name, const TapTerms<kTaps, Element>& terms,
                       float* dtaps) {
  constexpr int kBlockThreads = simt::kColumnWarps * simt::kWarp;
  const int64_t rows = terms.in.streams * terms.runs;
  const int64_t channels = terms.in.channels;
  const int64_t tiles = simt::divide_up(channels, simt::kWarp);
  const int64_t wanted = std::clamp<int64_t>(simt::kColumnBlocks / tiles, 1, simt::divide_up(rows, simt::kColumnWarps));
  const int64_t part_rows = simt::divide_up(rows, wanted);
  const int64_t parts = simt::divide_up(rows, part_rows);
  const int64_t part_columns = kTaps * channels;
  auto* scratch = static_cast<float*>(queue.scratch(parts * part_columns * static_cast<int64_t>(sizeof(float))));
  simt::launch(queue, name, {.x = tiles, .y = static_cast<int>(parts), .threads = kBlockThreads},
               simt::column_parts_kernel<1, TapTerms<kTaps, Element>>,
               simt::ColumnParts<TapTerms<kTaps, Element>>{
                   .terms = terms, .rows = rows, .columns = channels, .part_rows = part_rows, .parts = scratch});
  simt::launch(queue, name, {.x = simt::divide_up(part_columns, simt::kWarp), .threads = kBlockThreads},
               tap_totals_kernel,
               TapTotals{.terms = {.matrix = scratch, .columns = part_columns},
                         .parts = parts,
                         .channels = channels,
                         .taps = kTaps,
                         .dtaps = dtaps});
}

template <int kTaps, typename Element>
Inputs<kTaps, Element> inputs_of(const ShortConvolutionInputs& in) {
  return {.x = in.x.as<Element>(),
          .taps = in.taps.as<float>(),
          .before = simt::data_of<float>(in.before),
          .streams = in.x.shape[0],
          .tokens = in.x.shape[1],
          .channels = in.x.shape[2]};
}

template <int kTaps, typename Element>
simt::Launch launch_of(const Inputs<kTaps, Element>& in, int64_t runs) {
  return {.x = simt::divide_up(in.streams * runs * in.channels, kThreads), .threads = kThreads};
}

template <int kTaps, typename Element>
void forward(Queue& queue, const ShortConvolutionForward& args) {
  const Inputs<kTaps, Element> in = inputs_of<kTaps, Element>(args.inputs);
  const int64_t runs = simt::divide_up(in.tokens, kRun);
  simt::launch(
      queue.cuda(), "short_convolution_forward", launch_of(in, runs), short_convolution_forward_kernel<kTaps, Element>,
      Forward<kTaps, Element>{.in = in, .y = args.y.as<Element>(), .after = args.after.as<float>(), .runs = runs});
}

template <int kTaps, typename Element>
void backward(Queue& queue, const ShortConvolutionBackward& args) {
  constexpr auto kName = "short_convolution_backward";
  const Inputs<kTaps, Element> in = inputs_of<kTaps, Element>(args.inputs);
  const TapTerms<kTaps, Element> terms{.in = in, .dy = args.dy.as<Element>(), .runs = simt::divide_up(in.tokens, kRun)};
  add_tap_gradients(queue.cuda(), kName, terms, args.dtaps.as<float>());
  const int64_t runs = 1 + simt::divide_up(std::max<int64_t>(in.tokens - in.kBack, 0), kRun);
  simt::launch(queue.cuda(), kName, launch_of(in, runs), short_convolution_backward_kernel<kTaps, Element>,
               Backward<kTaps, Element>{.in = in,
                                        .dy = terms.dy,
                                        .dafter = simt::data_of<float>(args.dafter),
                                        .dx = args.dx.as<Element>(),
                                        .dbefore = simt::data_of<float>(args.dbefore),
                                        .runs = runs});
}

// call<kTaps>() for as many taps.
template <int kTaps = 2, typename Call>
void with_taps(int64_t taps, const Call& call) {
  if constexpr (kTaps < kMaxConvolutionTaps) {
    if (taps != kTaps) return with_taps<kTaps + 1>(taps, call);
  }
  call.template operator()<kTaps>();
}

}  // namespace

void short_convolution_forward(Queue& queue, const ShortConvolutionForward& args) {
  with_taps(args.inputs.taps.shape[1], [&]<int kTaps>() {
    simt::with_element(args.inputs.x.dtype, [&](auto element) { forward<kTaps, decltype(element)>(queue, args); });
  });
}

void short_convolution_backward(Queue& queue, const ShortConvolutionBackward& args) {
  with_taps(args.inputs.taps.shape[1], [&]<int kTaps>() {
    simt::with_element(args.inputs.x.dtype, [&](auto element) { backward<kTaps, decltype(element)>(queue, args); });
  });
}

}  // namespace segue::kernels::cuda
