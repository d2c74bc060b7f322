// Chunk before chunk, from the states that the forward kept. A block has a head: first each warp takes 16 columns of
// the state and finds what tokens wrote and what they receive for it, then 16 of its rows, for which queries, keys and
// decays receive from all columns.
//
// With G the gradient of the state after the chunk, and E = exp(g[t] - g[s]) of each channel:
//
//   du = p' do + (exp(g[last] - g) k) G;   dr = ((1 + diag(beta) a)^-1)' du, or du;   dv = diag(beta) dr
//   dbeta = dr . (v - (exp(g) k) S - a u);   dp = do u', da = -dv u'
//   dq = scale (exp(g) do S' + sum over s <= t of dp[t, s] E k[s])
//   dk = -exp(g) dv S' + exp(g[last] - g) u G' + sums of scale dp[s, t] E q[s] over s >= t, and of da both ways
//   dg = q dq + k dk, the terms of dk whose E or exp(g[last] - g) falls with g taken off, and dg[last] what these and S
//        decayed under G add up to; the gradient of a log decay is the sum of dg from its token on
//   G <- diag(exp(g[last])) G + (scale exp(g) q)' do - (exp(g) k)' dv
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/state_chunk.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element>
struct ScanBackwardArguments {
  StateInputs<Element> in;
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

template <int kKeys>
inline constexpr int kWarps = kKeys <= 128 ? 4 : 8;
template <int kKeys>
inline constexpr int kColumns = kWarps<kKeys> * 16;  // of the state, at a time

template <typename Element, int kKeys>
struct BackwardTiles {
  ChunkTiles<Element, kKeys> chunk;
  Tile<Element, kColumns<kKeys>> doutput;  // [kChunk]
  Tile<Element, kChunk> written;           // [kColumns]: u, transposed
  Tile<Element, kChunk> dvalue;            // [kColumns]: dv, transposed
  float* dscores;                          // [kChunk, kChunk]: dp, of all channels' decays where they share them
  float* doverlaps;                        // [kChunk, kChunk]: -da, likewise
  float* dbeta;                            // [kWarps, kChunk]
  float* dcarry;                           // [kKeys]: what S has in common with G, of each row
  float* drows;                            // [kChunk]: dg, of all channels

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit BackwardTiles(Memory& memory)
      : chunk(memory),
        doutput(memory, kChunk),
        written(memory, kColumns<kKeys>),
        dvalue(memory, kColumns<kKeys>),
        dscores(memory.template take<float>(kChunk * kChunk)),
        doverlaps(memory.template take<float>(kChunk * kChunk)),
        dbeta(memory.template take<float>(kWarps<kKeys> * kChunk)),
        dcarry(memory.template take<float>(kKeys)),
        drows(memory.template take<float>(kChunk)) {}
};

// Such a block's transpose [columns, keys] as the B operand of a product, eight keys at a time.
template <typename Element>
__device__ __forceinline__ void as_transposed_operand(FragmentB<Element> (&b)[2], const Accumulators<16>& block) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    for (int keys = 0; keys < 2; ++keys)
      split(b[keys].part, half, block.value[half][2 * keys], block.value[half][2 * keys + 1]);
  }
}

template <typename Element>
__device__ __forceinline__ void multiply_16(Accumulators<16>& sums, const FragmentA<Element>& a,
                                            const FragmentB<Element> (&b)[2]) {
  multiply(sums.value[0], a, b[0]);
  multiply(sums.value[1], a, b[1]);
}

// What a warp sums up over all columns, of 16 rows.
struct RowGradients {
  Accumulators<16> from_state;     // [kChunk, 16]: do S'
  Accumulators<16> from_decayed;   // dv S'
  Accumulators<16> from_gradient;  // u G'
  float dcarry[2] = {};            // of the rows of this lane
};

// `gradient` is G. The warp's 16 columns begin at `column`, and at `place` of the block's; `dbeta` is of the tokens in
// this lane's columns of accumulators.
template <bool kErases, typename Element, int kKeys>
__device__ __forceinline__ void take_columns(const ScanBackwardArguments<Element>& args,
                                             const BackwardTiles<Element, kKeys>& tiles, int number, int column,
                                             int place, const float* gradient, float (&dbeta)[kChunk / 8][2]) {
  const StateInputs<Element>& in = args.in;
  const ChunkTiles<Element, kKeys>& chunk = tiles.chunk;
  const float* state = args.kept + in.kept(number);
  Accumulators<kChunk> found, dwritten;
#pragma unroll 1
  for (int k = 0; k < kKeys; k += 16) {
    if constexpr (kErases) multiply_transpose(found, transposed_state(in, state, k, column), chunk.decayed_keys, 0, k);
    multiply_transpose(dwritten, transposed_state(in, gradient, k, column), chunk.keys, 0, k);
  }
  FragmentA<Element> operand;
  load_a_transposed(operand, tiles.doutput, place, 0);
  multiply_16_rows(dwritten, operand, chunk.scores, 0);
  Accumulators<kChunk> news = load_values(in, number * kChunk, column);
#pragma unroll
  for (int block = 0; block < kChunk / 8; ++block) {
    for (int i = 0; i < 4; ++i) news.value[block][i] -= found.value[block][i];
  }
  const Accumulators<kChunk> written = written_of(chunk, kErases, news);
  if constexpr (kErases) {
    Accumulators<kChunk> solved, overlapping;
    as_operand(operand, dwritten.value[0], dwritten.value[1]);
    multiply_16_rows(solved, operand, chunk.inverse, 0);
    dwritten = solved;
    as_operand(operand, written.value[0], written.value[1]);
    multiply_transpose(overlapping, operand, chunk.found, 0, 0);
#pragma unroll
    for (int block = 0; block < kChunk / 8; ++block) {
      for (int i = 0; i < 4; ++i) news.value[block][i] -= overlapping.value[block][i];
    }
  }
  const LaneOfAccumulators lane;
  Accumulators<kChunk> dvalue;
#pragma unroll
  for (int block = 0; block < kChunk / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      dvalue.value[block][i] = chunk.beta[lane.column(block, i)] * dwritten.value[block][i];
      dbeta[block][i % 2] += dwritten.value[block][i] * news.value[block][i];
    }
  }
  store_values(in, dvalue, number * kChunk, column, args.dv);
  store_tile(tiles.written, place, written);
  store_tile(tiles.dvalue, place, dvalue);
}

// What scores and overlaps receive from `width` columns of the block: the first two warps have one each.
template <bool kErases, typename Element, int kKeys>
__device__ __forceinline__ void take_comparisons(const BackwardTiles<Element, kKeys>& tiles, int width,
                                                 Accumulators<kChunk>& sums) {
  if (simt::warp() > (kErases ? 1 : 0)) return;
#pragma unroll 1
  for (int place = 0; place < width; place += 16) {
    FragmentA<Element> operand;
    if (simt::warp() == 0) {
      load_a(operand, tiles.doutput, 0, place);
    } else {
      load_a_transposed(operand, tiles.dvalue, 0, place);
    }
    multiply_16_rows(sums, operand, tiles.written, place);
  }
}

// Rows [key, key + 16) of the state, and the block's columns from `column` on. Leaves the gradient of the state before
// the chunk in `before`, which may be `gradient`.
template <bool kErases, typename Element, int kKeys>
__device__ __forceinline__ void take_rows(const ScanBackwardArguments<Element>& args,
                                          const BackwardTiles<Element, kKeys>& tiles, int number, int key, int column,
                                          const float* gradient, float* before, RowGradients& sums) {
  const StateInputs<Element>& in = args.in;
  const ChunkTiles<Element, kKeys>& chunk = tiles.chunk;
  const LaneOfAccumulators lane;
  FragmentA<Element> queries, keys;
  load_a_transposed(queries, chunk.queries, key, 0);
  load_a_transposed(keys, chunk.decayed_keys, key, 0);
#pragma unroll 1
  for (int place = 0; place < kColumns<kKeys> && column + place < in.values; place += 16) {
    const Accumulators<16> state = state_block(in, args.kept + in.kept(number), key, column + place);
    const Accumulators<16> after = state_block(in, gradient, key, column + place);
    FragmentA<Element> operand;
    FragmentB<Element> pair[2];
    as_transposed_operand(pair, state);
    load_a(operand, tiles.doutput, 0, place);
    multiply_16(sums.from_state, operand, pair);
    Accumulators<16> erased;
    if constexpr (kErases) {
      load_a_transposed(operand, tiles.dvalue, 0, place);
      multiply_16(sums.from_decayed, operand, pair);
      load_b(pair, tiles.dvalue, place, 0);
      multiply_16(erased, keys, pair);
    }
    as_transposed_operand(pair, after);
    load_a_transposed(operand, tiles.written, 0, place);
    multiply_16(sums.from_gradient, operand, pair);
    Accumulators<16> read;
    load_b_rows(pair, tiles.doutput, 0, place);
    multiply_16(read, queries, pair);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < 4; ++i) {
        const int row = key + lane.row(i);
        const int of = column + place + lane.column(half, i);
        sums.dcarry[i / 2] += state.value[half][i] * after.value[half][i];
        if (row >= in.keys || of >= in.values) continue;
        before[static_cast<int64_t>(row) * in.values + of] =
            chunk.carry[row] * after.value[half][i] + (read.value[half][i] - erased.value[half][i]);
      }
    }
  }
}

// Brings together what warps have of the columns; zeros where a token is not compared. Where channels share their
// decays, products are already of decayed tokens.
template <typename Element, int kKeys>
__device__ __forceinline__ void store_comparisons(const StateInputs<Element>& in,
                                                  const BackwardTiles<Element, kKeys>& tiles,
                                                  const Accumulators<kChunk>& sums,
                                                  const float (&dbeta)[kChunk / 8][2]) {
  const LaneOfAccumulators lane;
  float* to = simt::warp() == 0 ? tiles.dscores : tiles.doverlaps;
#pragma unroll
  for (int block = 0; block < kChunk / 8; ++block) {
    for (int i = 0; i < 4 && simt::warp() < 2; ++i) {
      const int t = lane.row(i);
      const int s = lane.column(block, i);
      const bool compared = s < t || (s == t && simt::warp() == 0);
      const float* decays = tiles.chunk.sums_of_all;
      const float decay = in.decays_by_channel() || !compared ? 1.0F : expf(decays[t] - decays[s]);
      to[t * kChunk + s] = compared ? decay * sums.value[block][i] : 0.0F;
    }
    for (int i = 0; i < 2; ++i) {
      float sum = dbeta[block][i];
      for (int mask = 4; mask < simt::kWarp; mask *= 2) sum += simt::shuffle_xor(sum, mask);
      if (lane.lane.group == 0) tiles.dbeta[simt::warp() * kChunk + lane.column(block, i)] = sum;
    }
  }
}

// Of [B, T, N, K] tensors; zero beyond the last token or channel.
template <typename Element>
__device__ __forceinline__ float element_of(const StateInputs<Element>& in, const Element* from, int t, int channel) {
  return t < in.tokens && channel < in.keys ? simt::as_float(from[in.place(t) * in.keys + channel]) : 0.0F;
}

// What queries and keys of this lane's tokens and channels receive from others of the chunk. A key's terms rise or fall
// with the sum of decays up to it.
struct Received {
  Accumulators<16> query, rising_key, falling_key;  // [kChunk, 16]
};

template <bool kErases, typename Element, int kKeys>
__device__ __forceinline__ Received receive(const StateInputs<Element>& in, const BackwardTiles<Element, kKeys>& tiles,
                                            int first, int first_key) {
  const LaneOfAccumulators lane;
  Received received;
#pragma unroll 2
  for (int s = 0; s < kChunk; ++s) {
    float as_later[2], as_earlier[2], overlap_as_later[2], overlap_as_earlier[2];  // of s beside the lane's two tokens
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const int t = lane.row(2 * row);
      as_earlier[row] = tiles.dscores[t * kChunk + s];
      as_later[row] = in.scale * tiles.dscores[s * kChunk + t];
      overlap_as_earlier[row] = kErases ? tiles.doverlaps[t * kChunk + s] : 0.0F;
      overlap_as_later[row] = kErases ? tiles.doverlaps[s * kChunk + t] : 0.0F;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      for (int j = 0; j < 2; ++j) {
        const int channel = first_key + lane.column(half, j);
        const float key = element_of(in, in.k, first + s, channel);
        const float query = element_of(in, in.q, first + s, channel);
#pragma unroll
        for (int row = 0; row < 2; ++row) {
          float decay = 1.0F;
          if (in.decays_by_channel())
            decay = expf(-fabsf(tiles.chunk.sum(in, lane.row(2 * row), channel) - tiles.chunk.sum(in, s, channel)));
          const int i = 2 * row + j;
          received.query.value[half][i] += decay * as_earlier[row] * key;
          received.rising_key.value[half][i] -= decay * overlap_as_earlier[row] * key;
          received.falling_key.value[half][i] += decay * (as_later[row] * query - overlap_as_later[row] * key);
        }
      }
    }
  }
  return received;
}

// Stores what queries and keys of the channels [first_key, first_key + 16) receive, and leaves what the sums of their
// decays receive in the place of those.
template <bool kErases, typename Element, int kKeys>
__device__ __forceinline__ void store_rows(const ScanBackwardArguments<Element>& args,
                                           const BackwardTiles<Element, kKeys>& tiles, int first, int first_key,
                                           const RowGradients& sums) {
  const StateInputs<Element>& in = args.in;
  const ChunkTiles<Element, kKeys>& chunk = tiles.chunk;
  const LaneOfAccumulators lane;
  for (int i = 0; i < 2; ++i) {
    float sum = sums.dcarry[i];
    sum += simt::shuffle_xor(sum, 1);
    sum += simt::shuffle_xor(sum, 2);
    if (lane.lane.pair == 0) tiles.dcarry[first_key + lane.row(2 * i)] = sum;
  }
  const Received received = receive<kErases>(in, tiles, first, first_key);
  float dsums[2][4], at_last[2][4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) {
      const int t = lane.row(i);
      const int channel = first_key + lane.column(half, i);
      const float until = chunk.sum(in, t, channel);
      const float decay = expf(until);
      const float query = in.scale * (received.query.value[half][i] + decay * sums.from_state.value[half][i]);
      const float rising = received.rising_key.value[half][i] - decay * sums.from_decayed.value[half][i];
      const float at_end = expf(chunk.sum(in, kChunk - 1, channel) - until) * sums.from_gradient.value[half][i];
      const float falling = received.falling_key.value[half][i] + at_end;
      const float key = element_of(in, in.k, first + t, channel);
      dsums[half][i] = element_of(in, in.q, first + t, channel) * query + key * (rising - falling);
      float last = key * at_end;
      for (int mask = 4; mask < simt::kWarp; mask *= 2) last += simt::shuffle_xor(last, mask);
      at_last[half][i] = last;
      if (first + t >= in.tokens || channel >= in.keys) continue;
      const int64_t to = in.place(first + t) * in.keys + channel;
      args.dq[to] = static_cast<Element>(query);
      args.dk[to] = static_cast<Element>(rising + falling);
    }
  }
  simt::sync_warp();  // all that was read of these channels' sums has been
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) {
      const int t = lane.row(i);
      const int channel = first_key + lane.column(half, i);
      float dsum = dsums[half][i];
      if (t == kChunk - 1)
        dsum += at_last[half][i % 2] + at_last[half][i] + chunk.carry[channel] * tiles.dcarry[channel];
      chunk.sums[t * ChunkTiles<Element, kKeys>::kPitch + channel] = dsum;
    }
  }
}

// A log decay takes part in the sums of its own token and all after it.
template <typename Element, int kKeys>
__device__ __forceinline__ void store_decays(const ScanBackwardArguments<Element>& args,
                                             const BackwardTiles<Element, kKeys>& tiles, int first) {
  constexpr int kPitch = ChunkTiles<Element, kKeys>::kPitch;
  const StateInputs<Element>& in = args.in;
  const float* dsums = tiles.chunk.sums;
  if (in.decays_by_channel()) {
    for (int channel = simt::thread(); channel < in.keys; channel += simt::block_threads()) {
      float sum = 0.0F;
      for (int t = kChunk - 1; t >= 0; --t) {
        sum += dsums[t * kPitch + channel];
        if (first + t < in.tokens) args.dlog_decay[in.place(first + t) * in.keys + channel] = sum;
      }
    }
    return;
  }
  for (int t = simt::warp(); t < kChunk; t += kWarps<kKeys>) {
    float sum = 0.0F;
    for (int channel = simt::lane(); channel < in.keys; channel += simt::kWarp) sum += dsums[t * kPitch + channel];
    sum = simt::reduce_warp(sum, simt::Sum());
    if (simt::lane() == 0) tiles.drows[t] = sum;
  }
  simt::sync_block();
  if (simt::thread() >= kChunk || first + simt::thread() >= in.tokens) return;
  float sum = 0.0F;
  for (int t = kChunk - 1; t >= simt::thread(); --t) sum += tiles.drows[t];
  args.dlog_decay[in.place(first + simt::thread())] = sum;
}

template <typename Element, int kKeys, bool kErases>
__global__ void __launch_bounds__(kWarps<kKeys>* simt::kWarp)
    state_scan_backward_kernel(ScanBackwardArguments<Element> args) {
  constexpr int kBlocks = kKeys <= 64 ? 1 : 2;  // of 16 rows that a warp takes
  static_assert(kBlocks * kWarps<kKeys> * 16 >= kKeys);
  const StateInputs<Element>& in = args.in;
  simt::SharedMemory memory;
  const BackwardTiles<Element, kKeys> tiles(memory);
  float* before = args.dinitial + in.state();
  const float* gradient = args.dfinal == nullptr ? nullptr : args.dfinal + in.state();
  for (int number = in.chunks() - 1; number >= 0; --number) {
    const int first = number * kChunk;
    tiles.chunk.load(in, first);
    Accumulators<kChunk> comparisons;
    float dbeta[kChunk / 8][2] = {};
    RowGradients of_rows[kBlocks];
    for (int column = 0; column < in.values; column += kColumns<kKeys>) {
      const int width = in.values - column < kColumns<kKeys> ? in.values - column : kColumns<kKeys>;
      load_rows(tiles.doutput, 0, kChunk, {.width = width, .vectorised = in.values_vectorised}, [&](int t) {
        return first + t < in.tokens ? args.doutput + in.place(first + t) * in.values + column : nullptr;
      });
      simt::async_commit();
      simt::async_wait<0>();
      simt::sync_block();
      const int place = simt::warp() * 16;
      if (place < width) take_columns<kErases>(args, tiles, number, column + place, place, gradient, dbeta);
      simt::sync_block();
      take_comparisons<kErases>(tiles, width, comparisons);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const int key = (block * kWarps<kKeys> + simt::warp()) * 16;
        if (key < in.keys) take_rows<kErases>(args, tiles, number, key, column, gradient, before, of_rows[block]);
      }
      simt::sync_block();
    }
    gradient = before;
    store_comparisons(in, tiles, comparisons, dbeta);
    simt::sync_block();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const int key = (block * kWarps<kKeys> + simt::warp()) * 16;
      if (key < in.keys) store_rows<kErases>(args, tiles, first, key, of_rows[block]);
    }
    simt::sync_block();
    if (args.dlog_decay != nullptr) store_decays(args, tiles, first);
    if (args.dbeta != nullptr && simt::thread() < kChunk && first + simt::thread() < in.tokens) {
      float sum = 0.0F;
      for (int warp = 0; warp < kWarps<kKeys>; ++warp) sum += tiles.dbeta[warp * kChunk + simt::thread()];
      args.dbeta[in.place(first + simt::thread())] = sum;
    }
    simt::sync_block();  // before the next chunk takes its place
  }
}

}  // namespace

void state_scan_backward(Queue& queue, const StateScanBackward& args) {
  simt::with_element(args.inputs.q.dtype, [&](auto element) {
    using Element = decltype(element);
    const ScanBackwardArguments<Element> arguments{
        .in = inputs_of<Element>(args.inputs, {args.inputs.q, args.inputs.k}, {args.doutput}),
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
    with_keys(arguments.in.keys, [&](auto keys) {
      constexpr int kKeys = decltype(keys)::value;
      simt::launch(queue.cuda(), "state_scan_backward",
                   {.y = arguments.in.heads,
                    .z = streams,
                    .threads = kWarps<kKeys> * simt::kWarp,
                    .shared_bytes = simt::shared_bytes_of<BackwardTiles<Element, kKeys>>()},
                   arguments.in.erases ? state_scan_backward_kernel<Element, kKeys, true>
                                       : state_scan_backward_kernel<Element, kKeys, false>,
                   arguments);
    });
  });
}

}  // namespace segue::kernels::cuda
