// What a chunk of 16 tokens does to a head's state, as products of small matrices on the tensor cores (Yang et al.
// 2024, arXiv:2406.06484, arXiv:2412.06464).
//
// With S the state before the chunk, g[t] the sums of log decays from its first token to t, of each channel of the
// keys, and sums over those channels:
//
//   a[t, s] = sum k[t] exp(g[t] - g[s]) k[s]          s < t: what later keys find of earlier ones, if they erase
//   p[t, s] = scale sum q[t] exp(g[t] - g[s]) k[s]    s <= t: the scores
//   u = (1 + diag(beta) a)^-1 diag(beta) (v - (exp(g) k) S)   erasing; otherwise diag(beta) v
//   o = (scale exp(g) q) S + p u
//   S <- diag(exp(g[last])) S + (exp(g[last] - g) k)' u
//
// No exponent is above 0, however fast a decay. Tokens are compared, and the inverse is found, in float32; then a, p,
// the inverse, u, states and decayed queries and keys are operands of the dtype of activations, their products' sums
// float32.
#pragma once

#include "kernels/cuda/tile_products.cuh"
#include "kernels/state_scan.h"

namespace segue::kernels::cuda {

inline constexpr int kChunk = static_cast<int>(states_apart(DeviceKind::kCuda));
static_assert(kChunk == 16, "a chunk is the rows of a product");

template <typename Element>
struct StateInputs {
  const Element* q;
  const Element* k;
  const Element* v;
  const float* log_decay;
  const float* beta;
  float scale;
  int tokens, heads, keys, values;
  int decay_rank;  // of log_decay, 0 without
  bool erases;
  bool keys_vectorised, values_vectorised;  // whether rows can be copied 16 bytes at a time

  // Of this block's head in [B, T, N, ..] and in [B, N, ..].
  __device__ __forceinline__ int64_t place(int t) const {
    return (static_cast<int64_t>(simt::block_z()) * tokens + t) * heads + simt::block_y();
  }
  __device__ __forceinline__ int64_t head() const {
    return static_cast<int64_t>(simt::block_z()) * heads + simt::block_y();
  }
  __device__ __forceinline__ int64_t state() const { return head() * keys * values; }
  __device__ __forceinline__ int64_t kept(int chunk) const { return (head() * chunks() + chunk) * keys * values; }
  __host__ __device__ __forceinline__ int chunks() const { return (tokens + kChunk - 1) / kChunk; }
  __device__ __forceinline__ bool decays_by_channel() const { return decay_rank == 4; }
};

template <typename Element>
StateInputs<Element> inputs_of(const StateScanInputs& in, std::initializer_list<ConstTensorView> of_keys,
                               std::initializer_list<ConstTensorView> of_values) {
  const Shape& q = in.q.shape;
  const int64_t values = in.v.shape[3];
  return {.q = in.q.as<Element>(),
          .k = in.k.as<Element>(),
          .v = in.v.as<Element>(),
          .log_decay = simt::data_of<float>(in.log_decay),
          .beta = simt::data_of<float>(in.beta),
          .scale = in.scale,
          .tokens = static_cast<int>(q[1]),
          .heads = static_cast<int>(q[2]),
          .keys = static_cast<int>(q[3]),
          .values = static_cast<int>(values),
          .decay_rank = in.log_decay.empty() ? 0 : in.log_decay.shape.rank(),
          .erases = in.erases,
          .keys_vectorised = simt::is_vectorisable(in.q.dtype, q[3], of_keys),
          .values_vectorised = simt::is_vectorisable(in.q.dtype, values, of_values)};
}

// What a block holds of a chunk; rows of tokens beyond the last are zeros.
template <typename Element, int kKeys>
struct ChunkTiles {
  static constexpr int kPitch = kKeys + 4;  // of sums: rows at one channel lie in different banks

  Tile<Element, kKeys> queries;       // [kChunk]: q, then scale exp(g) q
  Tile<Element, kKeys> keys;          // [kChunk]: k, then exp(g[last] - g) k
  Tile<Element, kKeys> decayed_keys;  // [kChunk]: exp(g) k
  Tile<Element, kChunk> scores;       // [kChunk]: p
  Tile<Element, kChunk> found;        // [kChunk]: a
  Tile<Element, kChunk> inverse;      // [kChunk]: (1 + diag(beta) a)^-1
  float* sums;                        // [kChunk, kPitch]: g of each channel, where each has its own
  float* sums_of_all;                 // [kChunk]: g of all channels, where they share it
  float* carry;                       // [kKeys]: exp(g[last]), what the chunk leaves of the state before it
  float* overlaps;                    // [kChunk, kChunk]: diag(beta) a
  float* beta;                        // [kChunk]

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit ChunkTiles(Memory& memory)
      : queries(memory, kChunk),
        keys(memory, kChunk),
        decayed_keys(memory, kChunk),
        scores(memory, kChunk),
        found(memory, kChunk),
        inverse(memory, kChunk),
        sums(memory.template take<float>(kChunk * kPitch)),
        sums_of_all(memory.template take<float>(kChunk)),
        carry(memory.template take<float>(kKeys)),
        overlaps(memory.template take<float>(kChunk * kChunk)),
        beta(memory.template take<float>(kChunk)) {}

  // g of a token, of one channel.
  __device__ __forceinline__ float sum(const StateInputs<Element>& in, int t, int channel) const {
    return in.decays_by_channel() ? sums[t * kPitch + channel] : sums_of_all[t];
  }

  // Of the tokens from `first` on. Nobody may read what is there before; all may read when it returns.
  __device__ __forceinline__ void load(const StateInputs<Element>& in, int first) const {
    const int count = in.tokens - first < kChunk ? in.tokens - first : kChunk;
    const auto rows_of = [&](const Element* from) {
      return [&in, from, first, count](int t) { return t < count ? from + in.place(first + t) * in.keys : nullptr; };
    };
    const RowFormat format{.width = in.keys, .vectorised = in.keys_vectorised};
    load_rows(queries, 0, kChunk, format, rows_of(in.q));
    load_rows(keys, 0, kChunk, format, rows_of(in.k));
    simt::async_commit();
    if (in.decays_by_channel()) {
      sum_decays_by_channel(in, first, count);
    } else {
      sum_decays_of_all(in, first, count);
    }
    for (int t = simt::thread(); t < kChunk; t += simt::block_threads())
      beta[t] = t >= count ? 0.0F : in.beta == nullptr ? 1.0F : in.beta[in.place(first + t)];
    simt::async_wait<0>();
    simt::sync_block();
    if (in.decays_by_channel()) {
      compare_by_channel(in);
    } else {
      compare_at_once(in);
    }
    simt::sync_block();
    if (in.erases && simt::warp() == 0) invert();
    decay_rows(in);
    simt::sync_block();
  }

 private:
  // An exponential of less is 0. Sums stay above -1664, so that their differences are exact to 1e-4 where every
  // token leaves nothing of the state, to 1e-6 where they add up to -16.
  static __device__ __forceinline__ float limited(float log_decay) { return log_decay < -104.0F ? -104.0F : log_decay; }

  __device__ __forceinline__ void sum_decays_by_channel(const StateInputs<Element>& in, int first, int count) const {
    for (int channel = simt::thread(); channel < kKeys; channel += simt::block_threads()) {
      float decays[kChunk];
#pragma unroll
      for (int t = 0; t < kChunk; ++t) {
        const bool exists = t < count && channel < in.keys;
        decays[t] = exists ? limited(in.log_decay[in.place(first + t) * in.keys + channel]) : 0.0F;
      }
      float sum = 0.0F;
#pragma unroll
      for (int t = 0; t < kChunk; ++t) {
        sum += decays[t];
        sums[t * kPitch + channel] = sum;
      }
    }
  }
  // A lane has a token.
  __device__ __forceinline__ void sum_decays_of_all(const StateInputs<Element>& in, int first, int count) const {
    if (simt::warp() != 0) return;
    const int t = simt::lane();
    float sum = 0.0F;
    if (t < count && in.decay_rank != 0)
      sum = limited(in.log_decay[in.decay_rank == 1 ? simt::block_y() : in.place(first + t)]);
#pragma unroll
    for (int back = 1; back < kChunk; back *= 2) {
      const float before = simt::shuffle(sum, t < back ? t : t - back);
      if (t >= back) sum += before;
    }
    if (t < kChunk) sums_of_all[t] = sum;
  }

  // Of a query and key at t with an earlier key at s, their channels decayed.
  __device__ __forceinline__ void store_comparison(const StateInputs<Element>& in, int t, int s, float score,
                                                   float overlap) const {
    *scores.at(t, s) = static_cast<Element>(s <= t ? in.scale * score : 0.0F);
    if (!in.erases) return;
    *found.at(t, s) = static_cast<Element>(s < t ? overlap : 0.0F);
    overlaps[t * kChunk + s] = s < t ? beta[t] * overlap : 0.0F;
  }

  __device__ __forceinline__ void compare_by_channel(const StateInputs<Element>& in) const {
    for (int e = simt::thread(); e < kChunk * kChunk; e += simt::block_threads()) {
      const int t = e / kChunk;
      const int s = e % kChunk;
      float score = 0.0F, overlap = 0.0F;
      for (int i = 0; s <= t && i < kKeys; i += 4) {
        float query[4], key[4], earlier[4], to[4], from[4];
        simt::load(queries.at(t, i), query);
        simt::load(keys.at(t, i), key);
        simt::load(keys.at(s, i), earlier);
        simt::load(sums + t * kPitch + i, to);
        simt::load(sums + s * kPitch + i, from);
        for (int j = 0; j < 4; ++j) {
          earlier[j] *= expf(to[j] - from[j]);
          score += query[j] * earlier[j];
          overlap += key[j] * earlier[j];
        }
      }
      store_comparison(in, t, s, score, overlap);
    }
  }

  // Where channels share their decays, which then come after the products; one warp has all of it.
  __device__ __forceinline__ void compare_at_once(const StateInputs<Element>& in) const {
    if (simt::warp() != simt::block_threads() / simt::kWarp - 1) return;
    Accumulators<kChunk> score, overlap;
    multiply_straight(score, queries, 0, keys);
    if (in.erases) multiply_straight(overlap, keys, 0, keys);
    const LaneOfAccumulators lane;
#pragma unroll
    for (int block = 0; block < kChunk / 8; ++block) {
      for (int i = 0; i < 4; ++i) {
        const int t = lane.row(i);
        const int s = lane.column(block, i);
        const float decay = s <= t ? expf(sums_of_all[t] - sums_of_all[s]) : 0.0F;
        store_comparison(in, t, s, decay * score.value[block][i], decay * overlap.value[block][i]);
      }
    }
  }

  // A lane solves for one column, from its first row on.
  __device__ __forceinline__ void invert() const {
    const int column = simt::lane() % kChunk;
    float solved[kChunk];
#pragma unroll
    for (int t = 0; t < kChunk; ++t) {
      solved[t] = t == column ? 1.0F : 0.0F;
#pragma unroll
      for (int s = 0; s < t; ++s) solved[t] -= overlaps[t * kChunk + s] * solved[s];
      if (simt::lane() < kChunk) *inverse.at(t, column) = static_cast<Element>(solved[t]);
    }
  }

  __device__ __forceinline__ void decay_rows(const StateInputs<Element>& in) const {
    for (int e = simt::thread(); e < kChunk * kKeys; e += simt::block_threads()) {
      const int t = e / kKeys;
      const int channel = e % kKeys;
      const float until = sum(in, t, channel);
      const float last = sum(in, kChunk - 1, channel);
      const float decay = expf(until);
      Element* query = queries.at(t, channel);
      Element* key = keys.at(t, channel);
      *query = static_cast<Element>(in.scale * decay * simt::as_float(*query));
      *decayed_keys.at(t, channel) = static_cast<Element>(decay * simt::as_float(*key));
      *key = static_cast<Element>(expf(last - until) * simt::as_float(*key));
      if (t == 0) carry[channel] = expf(last);
    }
  }
};

// Element (key, column) of a head's state in memory; zero where there is none.
template <typename Element>
__device__ __forceinline__ float state_at(const StateInputs<Element>& in, const float* state, int key, int column) {
  const bool exists = state != nullptr && key < in.keys && column < in.values;
  return exists ? state[static_cast<int64_t>(key) * in.values + column] : 0.0F;
}

// Rows [column, column + 16) and keys [key, key + 16) of a state's transpose, from memory.
template <typename Element>
__device__ __forceinline__ FragmentA<Element> transposed_state(const StateInputs<Element>& in, const float* state,
                                                               int key, int column) {
  const LanePlace lane;
  FragmentA<Element> operand;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int of = column + lane.group + i % 2 * 8;
    const int row = key + lane.pair + i / 2 * 8;
    split(operand.part, i, state_at(in, state, row, of), state_at(in, state, row + 1, of));
  }
  return operand;
}

// Keys [key, key + 16) and columns [column, column + 16) of a state, from memory.
template <typename Element>
__device__ __forceinline__ Accumulators<16> state_block(const StateInputs<Element>& in, const float* state, int key,
                                                        int column) {
  const LaneOfAccumulators lane;
  Accumulators<16> block;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i)
      block.value[half][i] = state_at(in, state, key + lane.row(i), column + lane.column(half, i));
  }
  return block;
}

// The values of a chunk's tokens, transposed: 16 columns from `column` on, [16, kChunk].
template <typename Element>
__device__ __forceinline__ Accumulators<kChunk> load_values(const StateInputs<Element>& in, int first, int column) {
  const LaneOfAccumulators lane;
  Accumulators<kChunk> values;
#pragma unroll
  for (int block = 0; block < kChunk / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int t = first + lane.column(block, i);
      const int of = column + lane.row(i);
      if (t < in.tokens && of < in.values) values.value[block][i] = simt::as_float(in.v[in.place(t) * in.values + of]);
    }
  }
  return values;
}

// Stores such values.
template <typename Element>
__device__ __forceinline__ void store_values(const StateInputs<Element>& in, const Accumulators<kChunk>& values,
                                             int first, int column, Element* to) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kChunk / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int t = first + lane.column(block, i);
      const int of = column + lane.row(i);
      if (t < in.tokens && of < in.values)
        to[in.place(t) * in.values + of] = static_cast<Element>(values.value[block][i]);
    }
  }
}

// What the tokens write, transposed, of their values less what their keys found in the state before the chunk.
template <typename Element, int kKeys>
__device__ __forceinline__ Accumulators<kChunk> written_of(const ChunkTiles<Element, kKeys>& chunk, bool erases,
                                                           const Accumulators<kChunk>& news) {
  const LaneOfAccumulators lane;
  Accumulators<kChunk> weighted;
#pragma unroll
  for (int block = 0; block < kChunk / 8; ++block) {
    for (int i = 0; i < 4; ++i) weighted.value[block][i] = chunk.beta[lane.column(block, i)] * news.value[block][i];
  }
  if (!erases) return weighted;
  Accumulators<kChunk> written;
  FragmentA<Element> operand;
  as_operand(operand, weighted.value[0], weighted.value[1]);
  multiply_transpose(written, operand, chunk.inverse, 0, 0);
  return written;
}

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

// call(Constant<keys that a kernel has room for>) for so many keys.
template <typename Call>
void with_keys(int keys, const Call& call) {
  static_assert(kMaxStateKeys == 256);
  if (keys <= 16) {
    call(Constant<16>());
  } else if (keys <= 64) {
    call(Constant<64>());
  } else if (keys <= 128) {
    call(Constant<128>());
  } else {
    call(Constant<256>());
  }
}

}  // namespace segue::kernels::cuda
