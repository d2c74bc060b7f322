// What a chunk of 16 tokens does to some columns of a head's state, as products of tiles (Yang et al. 2024,
// arXiv:2406.06484, arXiv:2412.06464).
//
// With S the state before the chunk and L[t, s] the product of a channel's decays after token s up to t; sums go over
// channels:
//
//   p[t, s] = scale sum q[t] L[t, s] k[s]     s <= t: the scores
//   a[t, s] = sum k[t] L[t, s] k[s]           s < t: what later keys find of earlier ones, if they erase
//   f[t] = (L[t, before] k[t]) S + sum a[t, s] u[s]
//   u[t] = beta[t] (v[t] - f[t]) erasing; otherwise beta[t] v[t]
//   o = (scale L[., before] q) S + p u
//   S <- diag(L[last, before]) S + (L[last, .] k)' u
//
// L is made of products, never of differences of logarithms: a decay of everything is a factor of 0.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/tile_gemm.h"
#include "kernels/cpu/vector_math.h"
#include "kernels/state_scan.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

constexpr int64_t kChunk = 16;
constexpr int64_t kStateColumns = 64;  // of values, at a time

// Of [kChunk, kChunk] tiles.
constexpr TileOperand square(const float* tile) { return {tile, kChunk, 1}; }

// One stream and head of what a scan reads.
template <typename A>
class StateHead {
 public:
  StateHead(const StateScanInputs& in, int64_t b, int64_t n)
      : in_(in), b_(b), n_(n), decay_rank_(in.log_decay.empty() ? 0 : in.log_decay.shape.rank()) {}

  int64_t tokens() const { return in_.q.shape[1]; }
  int64_t keys() const { return in_.q.shape[3]; }
  int64_t values() const { return in_.v.shape[3]; }
  int64_t stride() const { return padded(keys()); }  // of tiles whose rows are channels of keys
  float scale() const { return in_.scale; }
  bool erases() const { return in_.erases; }
  int decay_rank() const { return decay_rank_; }
  // Of a token, in [B, T, N, ..] tensors.
  int64_t place(int64_t t) const { return (b_ * tokens() + t) * in_.q.shape[2] + n_; }
  // In [B, N, ..] tensors.
  int64_t number() const { return b_ * in_.q.shape[2] + n_; }

  // Of a token, zeros after the last channel: scale q, k.
  void load_query(int64_t t, float* row) const { load_channels(in_.q, t, in_.scale, row); }
  void load_key(int64_t t, float* row) const { load_channels(in_.k, t, 1.0F, row); }
  // What a token leaves of each channel, 1 after the last.
  void load_decays(int64_t t, float* row) const {
    if (decay_rank_ < 4) {
      const float* from = data_of<float>(in_.log_decay);
      std::fill_n(row, stride(), decay_rank_ == 0 ? 1.0F : exp_float(from[decay_rank_ == 1 ? n_ : place(t)]));
      return;
    }
    const float* from = in_.log_decay.as<float>() + place(t) * keys();
#pragma omp simd
    for (int64_t i = 0; i < keys(); ++i) row[i] = exp_float(from[i]);
    std::fill(row + keys(), row + stride(), 1.0F);
  }
  float beta(int64_t t) const { return in_.beta.empty() ? 1.0F : in_.beta.as<float>()[place(t)]; }

 private:
  void load_channels(const ConstTensorView& from, int64_t t, float factor, float* row) const {
    const A* elements = from.as<A>() + place(t) * keys();
#pragma omp simd
    for (int64_t i = 0; i < keys(); ++i) row[i] = factor * load(elements + i);
    std::fill(row + keys(), row + stride(), 0.0F);
  }

  const StateScanInputs& in_;
  int64_t b_, n_;
  int decay_rank_;
};

// Some of the values of a head, and their padded number.
struct StateColumns {
  int64_t first, count;
  int64_t stride() const { return padded(count); }
};

// Columns of a piece: fewer where streams and heads alone are too few for the team. No result depends on it.
inline int64_t columns_of_a_piece(int64_t heads, int64_t values, int threads) {
  int64_t columns = kStateColumns;
  while (columns > kChunk && heads * ((values + columns - 1) / columns) < threads) columns /= 2;
  return columns;
}

// Heads of a stream that a piece takes: as many as leave every thread as much to do.
inline int64_t heads_of_a_piece(int64_t streams, int64_t heads, int threads) {
  constexpr int64_t kRounds = 4;  // in which no thread waits long for another
  int64_t together = heads;
  const auto is_even = [&] {
    const int64_t pieces = streams * ((heads + together - 1) / together);
    return pieces % threads == 0 || pieces >= kRounds * threads;
  };
  while (together > 1 && !is_even()) together = (together + 1) / 2;
  return together;
}

// Rows [kChunk, stride] of a [B, T, N, V] tensor; zeros where there is no token or column.
template <typename A>
void load_values(const StateHead<A>& head, const ConstTensorView& from, Range tokens, StateColumns columns,
                 float* rows) {
  for (int64_t t = 0; t < kChunk; ++t, rows += columns.stride()) {
    const int64_t count = t < tokens.count ? columns.count : 0;
    if (count > 0) {
      const A* elements = from.as<A>() + head.place(tokens.first + t) * head.values() + columns.first;
#pragma omp simd
      for (int64_t c = 0; c < count; ++c) rows[c] = load(elements + c);
    }
    std::fill(rows + count, rows + columns.stride(), 0.0F);
  }
}

template <typename A>
void store_values(const StateHead<A>& head, const float* rows, Range tokens, StateColumns columns,
                  const TensorView& to) {
  for (int64_t t = 0; t < tokens.count; ++t, rows += columns.stride())
    store_row(to.as<A>() + head.place(tokens.first + t) * head.values() + columns.first, rows, columns.count);
}

using StateTile = std::array<float, kMaxStateKeys * kStateColumns>;

// Columns of a [K, V] matrix as a tile [padded K, stride], and back.
inline void load_state(const float* from, int64_t keys, int64_t values, StateColumns columns, float* tile) {
  for (int64_t i = 0; i < padded(keys); ++i, tile += columns.stride()) {
    const int64_t count = from != nullptr && i < keys ? columns.count : 0;
    if (count > 0) std::copy_n(from + i * values + columns.first, count, tile);
    std::fill(tile + count, tile + columns.stride(), 0.0F);
  }
}
inline void store_state(const float* tile, int64_t keys, int64_t values, StateColumns columns, float* to) {
  for (int64_t i = 0; i < keys; ++i, tile += columns.stride())
    std::copy_n(tile, columns.count, to + i * values + columns.first);
}

inline void transpose(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                      int64_t to_stride) {
  for (int64_t r = 0; r < rows; r += kLanes) {
    for (int64_t c = 0; c < columns; c += kLanes)
      transpose_square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
  }
}

// Each row by its own factor.
inline void scale_rows(const float* factors, int64_t rows, int64_t columns, float* tile) {
  for (int64_t i = 0; i < rows; ++i, tile += columns) {
    for (int64_t c = 0; c < columns; c += kLanes) store_vector(tile + c, factors[i] * load_vector(tile + c));
  }
}

// What the tokens of a chunk are to each other and to the state, whatever their values. Rows [padded K]; those of
// tokens beyond the last are zeros, and keep everything.
struct alignas(64) ChunkKeys {
  using Rows = std::array<float, kChunk * kMaxStateKeys>;
  using Square = std::array<float, kChunk * kChunk>;

  Rows query, key, decay;                               // scale q, k, exp(log_decay)
  std::array<float, 2 * kChunk * kMaxStateKeys> reads;  // of the state before: L[t, before] scale q, then of k
  Rows writes;                                          // L[last, t] k
  std::array<float, kMaxStateKeys> carry;               // L[last, before]
  Square scores, overlaps;                              // p, a: zeros where s > t, s >= t
  std::array<float, kChunk> beta;
  Range tokens;
  bool fades;  // whether anything does

  template <typename A>
  void load(const StateHead<A>& head, Range of) {
    tokens = of;
    fades = head.decay_rank() > 0;
    const int64_t stride = head.stride();
    for (int64_t t = 0; t < kChunk; ++t) {
      const int64_t row = t * stride;
      if (t < of.count) {
        head.load_query(of.first + t, query.data() + row);
        head.load_key(of.first + t, key.data() + row);
        head.load_decays(of.first + t, decay.data() + row);
      } else {
        std::fill_n(query.data() + row, stride, 0.0F);
        std::fill_n(key.data() + row, stride, 0.0F);
        std::fill_n(decay.data() + row, stride, 1.0F);
      }
      beta[t] = t < of.count ? head.beta(of.first + t) : 0.0F;
    }
    if (fades) {
      decay_rows(stride);
    } else {
      keep_rows(stride);
    }
    if (head.decay_rank() == 4) {
      compare_by_channel(stride, head.erases());
    } else {
      compare_at_once(stride, head.erases());
    }
  }

 private:
  // What decay_rows makes where nothing fades.
  void keep_rows(int64_t stride) {
    copy_vectors(query.data(), kChunk * stride, reads.data());
    copy_vectors(key.data(), kChunk * stride, reads.data() + kChunk * stride);
    copy_vectors(key.data(), kChunk * stride, writes.data());
    std::fill_n(carry.data(), stride, 1.0F);
  }

  void decay_rows(int64_t stride) {
    for (int64_t i = 0; i < stride; i += kLanes) {
      Vector kept = Vector{} + 1.0F;
      for (int64_t t = 0; t < kChunk; ++t) {
        const int64_t at = t * stride + i;
        kept *= load_vector(decay.data() + at);
        store_vector(reads.data() + at, kept * load_vector(query.data() + at));
        store_vector(reads.data() + kChunk * stride + at, kept * load_vector(key.data() + at));
      }
      store_vector(carry.data() + i, kept);
      kept = Vector{} + 1.0F;
      for (int64_t t = kChunk - 1; t >= 0; --t) {
        const int64_t at = t * stride + i;
        store_vector(writes.data() + at, kept * load_vector(key.data() + at));
        kept *= load_vector(decay.data() + at);
      }
    }
  }

  // Where channels share their decays, which then come after the products.
  void compare_at_once(int64_t stride, bool erases) {
    alignas(64) std::array<float, kChunk * kMaxStateKeys> by_channel;
    transpose(key.data(), kChunk, stride, stride, by_channel.data(), kChunk);
    const auto products = [&](const Rows& rows, Square& square) {
      tile_gemm({.rows = kChunk,
                 .columns = kChunk,
                 .depth = stride,
                 .a = {rows.data(), stride, 1},
                 .b = by_channel.data(),
                 .b_stride = kChunk,
                 .c = square.data(),
                 .c_stride = kChunk});
    };
    products(query, scores);
    if (erases) products(key, overlaps);
    for (int64_t t = 0; t < kChunk; ++t) {
      float kept = 1.0F;
      for (int64_t s = kChunk - 1; s >= 0; --s) {
        const int64_t at = t * kChunk + s;
        if (s < t) kept *= decay[(s + 1) * stride];
        scores[at] = s <= t ? kept * scores[at] : 0.0F;
        overlaps[at] = erases && s < t ? kept * overlaps[at] : 0.0F;
      }
    }
  }

  void compare_by_channel(int64_t stride, bool erases) {
    scores = {};
    overlaps = {};
    alignas(64) std::array<float, kMaxStateKeys> decayed;
    for (int64_t s = 0; s < tokens.count; ++s) {
      copy_vectors(key.data() + s * stride, stride, decayed.data());
      for (int64_t t = s; t < tokens.count; ++t) {
        Vector score = {}, overlap = {};
        for (int64_t i = 0; i < stride; i += kLanes) {
          Vector row = load_vector(decayed.data() + i);
          if (t > s) {
            row *= load_vector(decay.data() + t * stride + i);
            store_vector(decayed.data() + i, row);
          }
          score += row * load_vector(query.data() + t * stride + i);
          if (erases) overlap += row * load_vector(key.data() + t * stride + i);
        }
        scores[t * kChunk + s] = sum_of_lanes(score);
        if (erases && t > s) overlaps[t * kChunk + s] = sum_of_lanes(overlap);
      }
    }
  }
};

// Some columns of what a chunk's tokens read and write, rows [stride].
struct alignas(64) ChunkValues {
  using Rows = std::array<float, kChunk * kStateColumns>;

  Rows read;     // of the state before: what queries do
  Rows found;    // the same of keys, then f
  Rows written;  // u

  // What queries and, where the head erases, keys read of a state [rows, stride].
  void read_queries(const ChunkKeys& keys, const float* state, int64_t rows, int64_t stride) {
    read_state(keys, keys.reads.data(), state, rows, stride, read);
  }
  void read_keys(const ChunkKeys& keys, const float* state, int64_t rows, int64_t stride) {
    read_state(keys, keys.reads.data() + kChunk * rows, state, rows, stride, found);
  }

  // From values in `written` to what is written of them; `found` is what keys read of the state.
  void write(const ChunkKeys& keys, bool erases, int64_t stride) {
    for (int64_t t = 0; t < keys.tokens.count; ++t) {
      for (int64_t c = 0; c < stride; c += kLanes) {
        Vector value = load_vector(written.data() + t * stride + c);
        if (erases) {
          Vector finds = load_vector(found.data() + t * stride + c);
          for (int64_t s = 0; s < t; ++s)
            finds += keys.overlaps[t * kChunk + s] * load_vector(written.data() + s * stride + c);
          store_vector(found.data() + t * stride + c, finds);
          value -= finds;
        }
        store_vector(written.data() + t * stride + c, keys.beta[t] * value);
      }
    }
  }

  // What queries read of the state before, to outputs: also what was written since.
  void read_written(const ChunkKeys& keys, int64_t stride) {
    tile_gemm({.rows = keys.tokens.count,
               .columns = stride,
               .depth = keys.tokens.count,
               .a = square(keys.scores.data()),
               .b = written.data(),
               .b_stride = stride,
               .c = read.data(),
               .c_stride = stride,
               .accumulate = true});
  }

  // From the state before the chunk to the one after it.
  void advance(const ChunkKeys& keys, float* state, int64_t rows, int64_t stride) const {
    if (keys.fades) scale_rows(keys.carry.data(), rows, stride, state);
    tile_gemm({.rows = rows,
               .columns = stride,
               .depth = keys.tokens.count,
               .a = TileOperand{keys.writes.data(), rows, 1}.transposed(),
               .b = written.data(),
               .b_stride = stride,
               .c = state,
               .c_stride = stride,
               .accumulate = true});
  }

 private:
  static void read_state(const ChunkKeys& keys, const float* reads, const float* state, int64_t rows, int64_t stride,
                         Rows& to) {
    tile_gemm({.rows = keys.tokens.count,
               .columns = stride,
               .depth = rows,
               .a = {reads, rows, 1},
               .b = state,
               .b_stride = stride,
               .c = to.data(),
               .c_stride = stride});
  }
};

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
