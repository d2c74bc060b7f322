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
#include "kernels/cpu/prefetches.h"
#include "kernels/cpu/tile_gemm.h"
#include "kernels/cpu/vector_math.h"
#include "kernels/state_scan.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

constexpr int64_t kChunk = 16;
constexpr int64_t kStateColumns = 64;  // of values, at a time

constexpr int64_t kStatesApart = states_apart(DeviceKind::kCpu);
static_assert(kStatesApart % kChunk == 0);

// Of T tokens those of part `part`, from one kept state to the next; of a part its chunks. None beyond the last.
inline Range part_of(int64_t part, int64_t tokens) {
  const int64_t first = std::min(part * kStatesApart, tokens);
  return {first, std::min(kStatesApart, tokens - first)};
}
inline int64_t chunks_of(Range part) { return (part.count + kChunk - 1) / kChunk; }
inline Range chunk_of(Range part, int64_t number) {
  const int64_t first = std::min(number * kChunk, part.count);
  return {part.first + first, std::min(kChunk, part.count - first)};
}

// Of [kChunk, kChunk] tiles.
constexpr TileOperand square(const float* tile) { return {tile, kChunk, 1}; }

// Some of the values of a head, and their padded number.
struct StateColumns {
  int64_t first, count;
  int64_t stride() const { return padded(count); }
};

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
  // What a token leaves of all channels alike.
  float decay(int64_t t) const {
    if (decay_rank_ == 0) return 1.0F;
    return exp_float(in_.log_decay.as<float>()[decay_rank_ == 1 ? n_ : place(t)]);
  }
  // Of each channel by itself, 1 after the last.
  void load_decays(int64_t t, float* row) const {
    const float* from = in_.log_decay.as<float>() + place(t) * keys();
#pragma omp simd
    for (int64_t i = 0; i < keys(); ++i) row[i] = exp_float(from[i]);
    std::fill(row + keys(), row + stride(), 1.0F);
  }
  float beta(int64_t t) const { return in_.beta.empty() ? 1.0F : in_.beta.as<float>()[place(t)]; }

  // Adds rows of a [B, T, N, ..] tensor, some of their columns.
  void prefetch(const ConstTensorView& of, Range tokens, StateColumns columns, Prefetches& prefetches) const {
    if (tokens.count == 0) return;
    const int64_t element = bytes_of(of.dtype), row = of.shape[3] * element;
    prefetches.add(of.data + place(tokens.first) * row + columns.first * element, tokens.count, in_.q.shape[2] * row,
                   columns.count * element);
  }
  // Adds what ChunkKeys load.
  void prefetch_keys(Range tokens, Prefetches& prefetches) const {
    prefetch(in_.q, tokens, {0, keys()}, prefetches);
    prefetch(in_.k, tokens, {0, keys()}, prefetches);
    if (decay_rank_ == 4) prefetch(in_.log_decay, tokens, {0, keys()}, prefetches);
  }

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

// Whether products can read and write a state where it lies: a [K, V] matrix, all of its columns at once, whose rows
// are whole vectors, and as many as those of the padded keys.
inline bool can_scan_in_place(int64_t keys, int64_t values, StateColumns columns) {
  return columns.count == values && padded(values) == values && padded(keys) == keys;
}
// Columns of a [K, V] matrix, zeros where there is none, as a tile [padded K, stride], and back.
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

// Adds to `sum` rows of whole vectors, `stride` from one to the next, each by its own factor. Several vectors at once,
// since each sum waits for the term before.
template <int64_t kVectors>
void add_rows(int64_t count, const float* factors, int64_t factor_stride, const float* rows, int64_t stride,
              float* sum) {
  Vector sums[kVectors];
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; ++v) sums[v] = load_vector(sum + v * kLanes);
  for (int64_t i = 0; i < count; ++i, rows += stride, factors += factor_stride) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) sums[v] += *factors * load_vector(rows + v * kLanes);
  }
#pragma GCC unroll 4
  for (int64_t v = 0; v < kVectors; ++v) store_vector(sum + v * kLanes, sums[v]);
}
inline void add_rows(int64_t count, const float* factors, int64_t factor_stride, const float* rows, int64_t stride,
                     float* sum) {
  constexpr int64_t kAtOnce = 4;
  int64_t c = 0;
  for (; c + kAtOnce * kLanes <= stride; c += kAtOnce * kLanes)
    add_rows<kAtOnce>(count, factors, factor_stride, rows + c, stride, sum + c);
  for (; c < stride; c += kLanes) add_rows<1>(count, factors, factor_stride, rows + c, stride, sum + c);
}

// L[t, .] of a chunk from L[t - 1, .], where all channels decay alike: zeros after t.
inline void decay_to(int64_t t, float decay, std::array<float, kChunk>& left) {
#pragma omp simd
  for (int64_t s = 0; s < kChunk; ++s) left[s] = s < t ? decay * left[s] : static_cast<float>(s == t);
}

// What the tokens of a chunk are to each other and to the state, whatever their values. Rows [padded K]; those of
// tokens beyond the last are zeros, and keep everything. What is equal lies in the cache once: where nothing fades,
// queries and keys are what reads and writes the state.
class alignas(64) ChunkKeys {
 public:
  using Rows = std::array<float, kChunk * kMaxStateKeys>;
  using Square = std::array<float, kChunk * kChunk>;

  Square scores, overlaps;  // p, a: zeros where s > t, s >= t; a of heads that erase
  std::array<float, kChunk> beta;

  Range tokens() const { return tokens_; }
  const float* query() const { return rows_.data(); }  // scale q
  const float* key() const { return rows_.data() + kChunk * stride_; }
  // Of the state before: L[t, before] scale q of all tokens, then L[t, before] k.
  const float* reads() const { return fades_ ? reads_.data() : rows_.data(); }
  const float* writes() const { return fades_ ? writes_.data() : key(); }  // L[last, t] k
  const float* carry() const { return fades_ ? carry_.data() : nullptr; }  // L[last, before]; none: all of everything
  float decay(int64_t t) const { return decay_[t]; }  // what a token leaves, where channels share it
  // The same of kLanes channels from i on, whether they share it or not.
  Vector decays(int64_t t, int64_t i) const {
    return by_channel_ ? load_vector(decays_.data() + t * stride_ + i) : Vector{} + decay_[t];
  }

  template <typename A>
  void load(const StateHead<A>& head, Range of) {
    tokens_ = of;
    stride_ = head.stride();
    fades_ = head.decay_rank() > 0;
    by_channel_ = head.decay_rank() == 4;
    for (int64_t t = 0; t < kChunk; ++t) {
      float* query = rows_.data() + t * stride_;
      float* key = query + kChunk * stride_;
      float* decays = decays_.data() + t * stride_;
      if (t < of.count) {
        head.load_query(of.first + t, query);
        head.load_key(of.first + t, key);
        if (by_channel_) head.load_decays(of.first + t, decays);
      } else {
        std::fill_n(query, stride_, 0.0F);
        std::fill_n(key, stride_, 0.0F);
        if (by_channel_) std::fill_n(decays, stride_, 1.0F);
      }
      beta[t] = t < of.count ? head.beta(of.first + t) : 0.0F;
      decay_[t] = t < of.count && !by_channel_ ? head.decay(of.first + t) : 1.0F;
    }
    if (fades_) decay_rows();
    if (by_channel_) {
      compare_by_channel(head.erases());
    } else {
      compare_at_once(head.erases());
    }
  }

 private:
  void decay_rows() {
    for (int64_t i = 0; i < stride_; i += kLanes) by_channel_ ? decay_rows<true>(i) : decay_rows<false>(i);
  }
  template <bool kByChannel>
  void decay_rows(int64_t i) {
    const int64_t stride = stride_, of_key = kChunk * stride;
    const auto decay = [&](int64_t t) {
      return kByChannel ? load_vector(decays_.data() + t * stride + i) : Vector{} + decay_[t];
    };
    Vector kept = Vector{} + 1.0F;
    for (int64_t t = 0; t < kChunk; ++t) {
      const int64_t at = t * stride + i;
      kept *= decay(t);
      store_vector(reads_.data() + at, kept * load_vector(rows_.data() + at));
      store_vector(reads_.data() + of_key + at, kept * load_vector(rows_.data() + of_key + at));
    }
    store_vector(carry_.data() + i, kept);
    kept = Vector{} + 1.0F;
    for (int64_t t = kChunk - 1; t >= 0; --t) {
      const int64_t at = t * stride + i;
      store_vector(writes_.data() + at, kept * load_vector(rows_.data() + of_key + at));
      kept *= decay(t);
    }
  }

  // Where channels share their decays, which then come after the products.
  void compare_at_once(bool erases) {
    alignas(64) Rows keys_by;  // a column for every token
    transpose(key(), kChunk, stride_, stride_, keys_by.data(), kChunk);
    const auto products = [&](const float* rows, Square& square) {
      tile_gemm({.rows = kChunk,
                 .columns = kChunk,
                 .depth = stride_,
                 .a = {rows, stride_, 1},
                 .b = keys_by.data(),
                 .b_stride = kChunk,
                 .c = square.data(),
                 .c_stride = kChunk});
    };
    products(query(), scores);
    if (erases) products(key(), overlaps);
    alignas(64) std::array<float, kChunk> left = {};
    for (int64_t t = 0; t < kChunk; ++t) {
      decay_to(t, decay_[t], left);
      float* of_scores = scores.data() + t * kChunk;
      float* of_overlaps = overlaps.data() + t * kChunk;
#pragma omp simd
      for (int64_t s = 0; s < kChunk; ++s) of_scores[s] = s <= t ? left[s] * of_scores[s] : 0.0F;
      if (!erases) continue;
#pragma omp simd
      for (int64_t s = 0; s < kChunk; ++s) of_overlaps[s] = s < t ? left[s] * of_overlaps[s] : 0.0F;
    }
  }

  void compare_by_channel(bool erases) {
    scores = {};
    overlaps = {};
    alignas(64) std::array<float, kMaxStateKeys> decayed;
    for (int64_t s = 0; s < tokens_.count; ++s) {
      copy_vectors(key() + s * stride_, stride_, decayed.data());
      for (int64_t t = s; t < tokens_.count; ++t) {
        Vector score = {}, overlap = {};
        for (int64_t i = 0; i < stride_; i += kLanes) {
          Vector row = load_vector(decayed.data() + i);
          if (t > s) {
            row *= load_vector(decays_.data() + t * stride_ + i);
            store_vector(decayed.data() + i, row);
          }
          score += row * load_vector(query() + t * stride_ + i);
          if (erases) overlap += row * load_vector(key() + t * stride_ + i);
        }
        scores[t * kChunk + s] = sum_of_lanes(score);
        if (erases && t > s) overlaps[t * kChunk + s] = sum_of_lanes(overlap);
      }
    }
  }

  // Whole cache lines, as what lies before them, so that no vector is in two.
  std::array<float, 2 * kChunk * kMaxStateKeys> rows_, reads_;
  Rows writes_, decays_;
  std::array<float, kMaxStateKeys> carry_;
  std::array<float, kChunk> decay_;
  Range tokens_;
  int64_t stride_;
  bool fades_;  // whether anything does
  bool by_channel_;
};

// Some columns of what a chunk's tokens read and write, rows [stride].
struct alignas(64) ChunkValues {
  using Rows = std::array<float, kChunk * kStateColumns>;

  Rows read;     // of the state before: what queries do
  Rows found;    // the same of keys, then f
  Rows written;  // u

  // What queries and, where the head erases, keys read of a state [rows, stride].
  void read_queries(const ChunkKeys& keys, const float* state, int64_t rows, int64_t stride, Prefetches& prefetches) {
    read_state(keys, keys.reads(), state, rows, stride, read, prefetches);
  }
  void read_keys(const ChunkKeys& keys, const float* state, int64_t rows, int64_t stride, Prefetches& prefetches) {
    read_state(keys, keys.reads() + kChunk * rows, state, rows, stride, found, prefetches);
  }

  // From values in `written` to what is written of them; `found` is what keys read of the state.
  void write(const ChunkKeys& keys, bool erases, int64_t stride) {
    for (int64_t t = 0; t < keys.tokens().count; ++t) {
      float* value = written.data() + t * stride;
      float* finds = found.data() + t * stride;
      if (erases) add_rows(t, keys.overlaps.data() + t * kChunk, 1, written.data(), stride, finds);
      for (int64_t c = 0; c < stride; c += kLanes) {
        const Vector left = erases ? load_vector(value + c) - load_vector(finds + c) : load_vector(value + c);
        store_vector(value + c, keys.beta[t] * left);
      }
    }
  }

  // What queries read of the state before, to outputs: also what was written since.
  void read_written(const ChunkKeys& keys, int64_t stride, Prefetches& prefetches) {
    tile_gemm({.rows = keys.tokens().count,
               .columns = stride,
               .depth = keys.tokens().count,
               .a = square(keys.scores.data()),
               .b = written.data(),
               .b_stride = stride,
               .c = read.data(),
               .c_stride = stride,
               .accumulate = true},
              prefetches);
  }

  // From the state before the chunk to the one after it, which may take its place.
  void advance(const ChunkKeys& keys, const float* before, float* after, int64_t rows, int64_t stride,
               Prefetches& prefetches) const {
    tile_gemm_onto({before, keys.carry()},
                   {.rows = rows,
                    .columns = stride,
                    .depth = keys.tokens().count,
                    .a = TileOperand{keys.writes(), rows, 1}.transposed(),
                    .b = written.data(),
                    .b_stride = stride,
                    .c = after,
                    .c_stride = stride},
                   prefetches);
  }

 private:
  static void read_state(const ChunkKeys& keys, const float* reads, const float* state, int64_t rows, int64_t stride,
                         Rows& to, Prefetches& prefetches) {
    tile_gemm({.rows = keys.tokens().count,
               .columns = stride,
               .depth = rows,
               .a = {reads, rows, 1},
               .b = state,
               .b_stride = stride,
               .c = to.data(),
               .c_stride = stride},
              prefetches);
  }
};

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
