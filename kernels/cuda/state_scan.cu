// Token after token: eight lanes hold a column of a head's state in registers, each every eighth row. Forward, a block
// has some columns of a head; backward it has all of them, a few at a time, since queries, keys and decays take their
// gradients from all.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kLanesOfColumn = 8;
constexpr int kColumnsOfWarp = simt::kWarp / kLanesOfColumn;

// Of a kernel whose lanes hold kRows rows each. Forward and backward alike, so that the states of kStatesApart tokens
// fit into shared memory.
template <int kRows>
struct Division {
  static constexpr int kKeys = kRows * kLanesOfColumn;
  static constexpr int kWarps = kRows == 2 ? 8 : kRows == 8 ? 4 : kRows == 16 ? 2 : 1;
  static constexpr int kThreads = kWarps * simt::kWarp;
  static constexpr int kColumns = kWarps * kColumnsOfWarp;
};

template <typename Element>
struct ScanInputs {
  const Element* q;
  const Element* k;
  const Element* v;
  const float* log_decay;
  const float* beta;
  float scale;
  int tokens, heads, keys, values;
  int decay_rank;  // of log_decay, 0 without

  // Of this block's head in [B, T, N, ..] and in [B, N, ..].
  __device__ __forceinline__ int64_t place(int t) const {
    return (static_cast<int64_t>(simt::block_z()) * tokens + t) * heads + simt::block_y();
  }
  __device__ __forceinline__ int64_t state() const {
    return (static_cast<int64_t>(simt::block_z()) * heads + simt::block_y()) * keys * values;
  }
  // Of all rows, unless each has its own.
  __device__ __forceinline__ float decay_of_rows(int64_t place) const {
    if (decay_rank == 0 || decay_rank == 4) return 1.0F;
    return expf(log_decay[decay_rank == 1 ? simt::block_y() : place]);
  }
};

// What this lane holds of a state.
template <int kRows>
struct LaneOfState {
  int column;

  __device__ __forceinline__ explicit LaneOfState(int first_column)
      : column(first_column + simt::thread() / kLanesOfColumn) {}
  __device__ __forceinline__ static int row(int j) { return j * kLanesOfColumn + simt::lane() % kLanesOfColumn; }
  __device__ __forceinline__ static bool is_first() { return simt::lane() % kLanesOfColumn == 0; }
};

// Over the rows of a column.
__device__ __forceinline__ float sum_of_rows(float value) {
  for (int mask = 1; mask < kLanesOfColumn; mask *= 2) value += simt::shuffle_xor(value, mask);
  return value;
}
// Over the columns of a warp.
__device__ __forceinline__ float sum_of_columns(float value) {
  for (int mask = kLanesOfColumn; mask < simt::kWarp; mask *= 2) value += simt::shuffle_xor(value, mask);
  return value;
}

// A token's query, key and decay in the rows of this lane; zeros beyond the last.
template <int kRows>
struct TokenRows {
  float query[kRows], key[kRows], decay[kRows];
  float beta;

  template <typename Element>
  __device__ __forceinline__ TokenRows(const ScanInputs<Element>& in, int t) {
    const int64_t place = in.place(t);
    const float decay_of_rows = in.decay_of_rows(place);
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const int row = LaneOfState<kRows>::row(j);
      const bool exists = row < in.keys;
      query[j] = exists ? simt::as_float(in.q[place * in.keys + row]) : 0.0F;
      key[j] = exists ? simt::as_float(in.k[place * in.keys + row]) : 0.0F;
      decay[j] = exists ? decay_of_rows : 0.0F;
      if (exists && in.decay_rank == 4) decay[j] = expf(in.log_decay[place * in.keys + row]);
    }
    beta = in.beta == nullptr ? 1.0F : in.beta[place];
  }
};

template <int kRows, typename Element>
__device__ __forceinline__ void load_state(const ScanInputs<Element>& in, const float* from, int column,
                                           float (&state)[kRows]) {
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    const int row = LaneOfState<kRows>::row(j);
    const bool exists = from != nullptr && row < in.keys && column < in.values;
    state[j] = exists ? from[static_cast<int64_t>(row) * in.values + column] : 0.0F;
  }
}

template <int kRows, typename Element>
__device__ __forceinline__ void store_state(const ScanInputs<Element>& in, const float (&state)[kRows], int column,
                                            float* to) {
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    const int row = LaneOfState<kRows>::row(j);
    if (row < in.keys && column < in.values) to[static_cast<int64_t>(row) * in.values + column] = state[j];
  }
}

template <int kRows, typename Element>
__device__ __forceinline__ float value_of(const ScanInputs<Element>& in, int t, int column) {
  return column < in.values ? simt::as_float(in.v[in.place(t) * in.values + column]) : 0.0F;
}

struct Written {
  float value, found;
};

// One token's step.
template <bool kErases, int kRows>
__device__ __forceinline__ Written write_token(const TokenRows<kRows>& token, float value, float (&state)[kRows]) {
  float found = 0.0F;
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    state[j] *= token.decay[j];
    if constexpr (kErases) found += token.key[j] * state[j];
  }
  if constexpr (kErases) found = sum_of_rows(found);
  const float written = token.beta * (value - found);
#pragma unroll
  for (int j = 0; j < kRows; ++j) state[j] += token.key[j] * written;
  return {written, found};
}

template <typename Element>
struct ScanForwardArguments {
  ScanInputs<Element> in;
  const float* initial;
  Element* output;
  float* final;
  float* kept;
};

template <typename Element, int kRows, bool kErases>
__global__ void __launch_bounds__(Division<kRows>::kThreads)
    state_scan_forward_kernel(ScanForwardArguments<Element> args) {
  const ScanInputs<Element>& in = args.in;
  const LaneOfState<kRows> lane(simt::block() * Division<kRows>::kColumns);
  const int kept_of_head = (in.tokens + static_cast<int>(kStatesApart) - 1) / static_cast<int>(kStatesApart);
  float state[kRows];
  load_state(in, args.initial == nullptr ? nullptr : args.initial + in.state(), lane.column, state);
  for (int t = 0; t < in.tokens; ++t) {
    if (args.kept != nullptr && t % static_cast<int>(kStatesApart) == 0) {
      const int64_t number = t / static_cast<int>(kStatesApart);
      store_state(in, state, lane.column, args.kept + in.state() * kept_of_head + number * in.keys * in.values);
    }
    const TokenRows<kRows> token(in, t);
    write_token<kErases>(token, value_of<kRows>(in, t, lane.column), state);
    float read = 0.0F;
#pragma unroll
    for (int j = 0; j < kRows; ++j) read += token.query[j] * state[j];
    read = sum_of_rows(read);
    if (lane.is_first() && lane.column < in.values)
      args.output[in.place(t) * in.values + lane.column] = static_cast<Element>(in.scale * read);
  }
  store_state(in, state, lane.column, args.final + in.state());
}

template <typename Element>
struct ScanBackwardArguments {
  ScanInputs<Element> in;
  const float* kept;
  const Element* doutput;
  const float* dfinal;
  Element* dq;
  Element* dk;
  Element* dv;
  float* dlog_decay;
  float* dbeta;
  float* dinitial;
};

// What a block keeps of kStatesApart tokens: the states before each, which every thread reads as it wrote them, what
// was written and found of each column, and the gradients summed up over columns so far.
template <int kRows>
struct RangeTiles {
  using Part = Division<kRows>;
  static constexpr int kTokens = static_cast<int>(kStatesApart);
  static constexpr int kSums = 3;  // of queries, keys and decays

  float* states;          // [kTokens, kRows, kThreads]
  float* written;         // [kTokens, kColumns]
  float* found;           // [kTokens, kColumns]
  float* sums;            // [kTokens, kSums, kKeys]
  float* betas;           // [kTokens]
  float* of_warps;        // [kWarps, kSums, kKeys]: of one token
  float* betas_of_warps;  // [kWarps]

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit RangeTiles(Memory& memory)
      : states(memory.template take<float>(kTokens * kRows * Part::kThreads)),
        written(memory.template take<float>(kTokens * Part::kColumns)),
        found(memory.template take<float>(kTokens * Part::kColumns)),
        sums(memory.template take<float>(kTokens * kSums * Part::kKeys)),
        betas(memory.template take<float>(kTokens)),
        of_warps(memory.template take<float>(Part::kWarps * kSums * Part::kKeys)),
        betas_of_warps(memory.template take<float>(Part::kWarps)) {}

  __device__ __forceinline__ float& state(int t, int j) const {
    return states[(t * kRows + j) * Part::kThreads + simt::thread()];
  }
  __device__ __forceinline__ static int column() { return simt::thread() / kLanesOfColumn; }
  __device__ __forceinline__ void clear() const {
    for (int e = simt::thread(); e < kTokens * kSums * Part::kKeys; e += Part::kThreads) sums[e] = 0.0F;
    if (simt::thread() < kTokens) betas[simt::thread()] = 0.0F;
  }
  // All warps have left theirs.
  __device__ __forceinline__ void add_warps(int t) const {
    for (int e = simt::thread(); e < kSums * Part::kKeys; e += Part::kThreads) {
      float sum = sums[t * kSums * Part::kKeys + e];
      for (int warp = 0; warp < Part::kWarps; ++warp) sum += of_warps[warp * kSums * Part::kKeys + e];
      sums[t * kSums * Part::kKeys + e] = sum;
    }
    if (simt::thread() == 0) {
      for (int warp = 0; warp < Part::kWarps; ++warp) betas[t] += betas_of_warps[warp];
    }
  }
};

// Makes the states of `count` tokens anew, and leaves the one after the last in `state`.
template <bool kErases, int kRows, typename Element>
__device__ __forceinline__ void remake(const ScanInputs<Element>& in, const RangeTiles<kRows>& tiles, int first,
                                       int count, int column, float (&state)[kRows]) {
  for (int t = 0; t < count; ++t) {
    for (int j = 0; j < kRows; ++j) tiles.state(t, j) = state[j];
    const TokenRows<kRows> token(in, first + t);
    const Written written = write_token<kErases>(token, value_of<kRows>(in, first + t, column), state);
    if (!LaneOfState<kRows>::is_first()) continue;
    tiles.written[t * Division<kRows>::kColumns + tiles.column()] = written.value;
    tiles.found[t * Division<kRows>::kColumns + tiles.column()] = written.found;
  }
  simt::sync_warp();  // its lanes share columns
}

// One token back: `gradient` is that of the state after it, and then of the state before it; `after` likewise.
template <bool kErases, int kRows, typename Element>
__device__ __forceinline__ void go_back(const ScanBackwardArguments<Element>& args, const RangeTiles<kRows>& tiles,
                                        int first, int t, int column, float (&after)[kRows], float (&gradient)[kRows]) {
  using Tiles = RangeTiles<kRows>;
  const ScanInputs<Element>& in = args.in;
  const TokenRows<kRows> token(in, first + t);
  const int64_t at = in.place(first + t) * in.values + column;
  const float doutput = column < in.values ? in.scale * simt::as_float(args.doutput[at]) : 0.0F;
  float dwritten = 0.0F;
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    gradient[j] += token.query[j] * doutput;
    dwritten += token.key[j] * gradient[j];
  }
  dwritten = sum_of_rows(dwritten);
  const float dvalue = token.beta * dwritten;
  if (LaneOfState<kRows>::is_first() && column < in.values) args.dv[at] = static_cast<Element>(dvalue);
  const int shared_column = t * Division<kRows>::kColumns + tiles.column();
  const float written = tiles.written[shared_column];
  const float beta = sum_of_columns(dwritten * (value_of<kRows>(in, first + t, column) - tiles.found[shared_column]));
  float* of_warp = tiles.of_warps + simt::warp() * Tiles::kSums * Division<kRows>::kKeys;
  if (simt::lane() == 0) tiles.betas_of_warps[simt::warp()] = beta;
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    const float before = tiles.state(t, j);
    const float decayed = before * token.decay[j];
    const float for_query = sum_of_columns(after[j] * doutput);
    float for_key = gradient[j] * written;
    if constexpr (kErases) {
      for_key -= decayed * dvalue;
      gradient[j] -= token.key[j] * dvalue;
    }
    for_key = sum_of_columns(for_key);
    const float for_decay = sum_of_columns(gradient[j] * decayed);
    gradient[j] *= token.decay[j];
    after[j] = before;
    if (simt::lane() >= kLanesOfColumn) continue;
    const int row = LaneOfState<kRows>::row(j);
    of_warp[row] = for_query;
    of_warp[Division<kRows>::kKeys + row] = for_key;
    of_warp[2 * Division<kRows>::kKeys + row] = for_decay;
  }
  simt::sync_block();
  tiles.add_warps(t);
  simt::sync_block();
}

template <int kRows, typename Element>
__device__ __forceinline__ void store_sums(const ScanBackwardArguments<Element>& args, const RangeTiles<kRows>& tiles,
                                           int first, int count) {
  constexpr int kKeys = Division<kRows>::kKeys;
  const ScanInputs<Element>& in = args.in;
  for (int e = simt::thread(); e < count * in.keys; e += Division<kRows>::kThreads) {
    const int t = e / in.keys;
    const int row = e % in.keys;
    const float* sums = tiles.sums + t * RangeTiles<kRows>::kSums * kKeys + row;
    const int64_t to = in.place(first + t) * in.keys + row;
    args.dq[to] = static_cast<Element>(sums[0]);
    args.dk[to] = static_cast<Element>(sums[kKeys]);
    if (args.dlog_decay != nullptr && in.decay_rank == 4) args.dlog_decay[to] = sums[2 * kKeys];
  }
  if (simt::thread() >= count) return;
  const int64_t to = in.place(first + simt::thread());
  if (args.dbeta != nullptr) args.dbeta[to] = tiles.betas[simt::thread()];
  if (args.dlog_decay == nullptr || in.decay_rank != 3) return;
  const float* decays = tiles.sums + (simt::thread() * RangeTiles<kRows>::kSums + 2) * kKeys;
  float sum = 0.0F;
  for (int row = 0; row < in.keys; ++row) sum += decays[row];
  args.dlog_decay[to] = sum;
}

template <typename Element, int kRows, bool kErases>
__global__ void __launch_bounds__(Division<kRows>::kThreads)
    state_scan_backward_kernel(ScanBackwardArguments<Element> args) {
  constexpr int kTokens = RangeTiles<kRows>::kTokens;
  const ScanInputs<Element>& in = args.in;
  simt::SharedMemory memory;
  const RangeTiles<kRows> tiles(memory);
  const int ranges = (in.tokens + kTokens - 1) / kTokens;
  const float* kept = args.kept + in.state() * ranges;
  float* left = args.dinitial + in.state();  // what each range leaves to the one before
  const float* gradients = args.dfinal == nullptr ? nullptr : args.dfinal + in.state();
  for (int range = ranges - 1; range >= 0; --range) {
    const int first = range * kTokens;
    const int count = in.tokens - first < kTokens ? in.tokens - first : kTokens;
    tiles.clear();
    for (int column = 0; column < in.values; column += Division<kRows>::kColumns) {
      const LaneOfState<kRows> lane(column);
      float state[kRows], gradient[kRows];
      load_state(in, kept + static_cast<int64_t>(range) * in.keys * in.values, lane.column, state);
      load_state(in, gradients, lane.column, gradient);
      remake<kErases>(in, tiles, first, count, lane.column, state);
      simt::sync_block();  // also what was cleared is clear
      for (int t = count - 1; t >= 0; --t) go_back<kErases>(args, tiles, first, t, lane.column, state, gradient);
      store_state(in, gradient, lane.column, left);
    }
    gradients = left;
    store_sums(args, tiles, first, count);
    simt::sync_block();
  }
}

template <typename Element>
ScanInputs<Element> inputs_of(const StateScanInputs& in) {
  const Shape& q = in.q.shape;
  return {.q = in.q.as<Element>(),
          .k = in.k.as<Element>(),
          .v = in.v.as<Element>(),
          .log_decay = simt::data_of<float>(in.log_decay),
          .beta = simt::data_of<float>(in.beta),
          .scale = in.scale,
          .tokens = static_cast<int>(q[1]),
          .heads = static_cast<int>(q[2]),
          .keys = static_cast<int>(q[3]),
          .values = static_cast<int>(in.v.shape[3]),
          .decay_rank = in.log_decay.empty() ? 0 : in.log_decay.shape.rank()};
}

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

// call(Constant<rows of a lane>) for so many keys.
template <typename Call>
void with_rows(int keys, const Call& call) {
  if (keys <= Division<2>::kKeys) {
    call(Constant<2>());
  } else if (keys <= Division<8>::kKeys) {
    call(Constant<8>());
  } else if (keys <= Division<16>::kKeys) {
    call(Constant<16>());
  } else {
    call(Constant<32>());
  }
}

}  // namespace

void state_scan_forward(Queue& queue, const StateScanForward& args) {
  simt::with_element(args.inputs.q.dtype, [&](auto element) {
    using Element = decltype(element);
    const ScanForwardArguments<Element> arguments{.in = inputs_of<Element>(args.inputs),
                                                  .initial = simt::data_of<float>(args.inputs.initial),
                                                  .output = args.output.as<Element>(),
                                                  .final = args.final.as<float>(),
                                                  .kept = simt::data_of<float>(args.kept)};
    const auto streams = static_cast<int>(args.inputs.q.shape[0]);
    with_rows(arguments.in.keys, [&](auto rows) {
      constexpr int kRows = decltype(rows)::value;
      using Part = Division<kRows>;
      simt::launch(queue.cuda(), "state_scan_forward",
                   {.x = simt::divide_up(arguments.in.values, Part::kColumns),
                    .y = arguments.in.heads,
                    .z = streams,
                    .threads = Part::kThreads},
                   args.inputs.erases ? state_scan_forward_kernel<Element, kRows, true>
                                      : state_scan_forward_kernel<Element, kRows, false>,
                   arguments);
    });
  });
}

void state_scan_backward(Queue& queue, const StateScanBackward& args) {
  simt::with_element(args.inputs.q.dtype, [&](auto element) {
    using Element = decltype(element);
    const ScanBackwardArguments<Element> arguments{.in = inputs_of<Element>(args.inputs),
                                                   .kept = args.kept.as<float>(),
                                                   .doutput = args.doutput.as<Element>(),
                                                   .dfinal = simt::data_of<float>(args.dfinal),
                                                   .dq = args.dq.as<Element>(),
                                                   .dk = args.dk.as<Element>(),
                                                   .dv = args.dv.as<Element>(),
                                                   .dlog_decay = simt::data_of<float>(args.dlog_decay),
                                                   .dbeta = simt::data_of<float>(args.dbeta),
                                                   .dinitial = args.dinitial.as<float>()};
    const auto streams = static_cast<int>(args.inputs.q.shape[0]);
    with_rows(arguments.in.keys, [&](auto rows) {
      constexpr int kRows = decltype(rows)::value;
      simt::launch(queue.cuda(), "state_scan_backward",
                   {.y = arguments.in.heads,
                    .z = streams,
                    .threads = Division<kRows>::kThreads,
                    .shared_bytes = simt::shared_bytes_of<RangeTiles<kRows>>()},
                   args.inputs.erases ? state_scan_backward_kernel<Element, kRows, true>
                                      : state_scan_backward_kernel<Element, kRows, false>,
                   arguments);
    });
  });
}

}  // namespace segue::kernels::cuda
