// Back from the states that the forward kept, several chunks from one to the next.
#include <memory>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/state_chunk.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kChunksApart = kStatesApart / kChunk;  // from one kept state to the next

// The sums over all columns, of one chunk. Those of keys have a column for every token.
struct alignas(64) ChunkGradients {
  std::array<float, 2 * kChunk * kMaxStateKeys> reads;  // [padded K, 2 kChunk]: of L[t, before] scale q, then of k
  std::array<float, kChunk * kMaxStateKeys> writes;     // [padded K, kChunk]: of L[last, t] k
  std::array<float, kMaxStateKeys> carry;
  std::array<float, 2 * kChunk * kChunk> pairs;  // of p, then of a
  std::array<float, kChunk> beta;

  // Of those that are added to; the products of the first columns begin the others.
  void clear(int64_t rows) {
    std::fill_n(carry.data(), rows, 0.0F);
    beta = {};
  }
};

// What the tokens of a chunk receive, rows [padded K]. A key does so as what looks into the state, decayed up to its
// token, and as what later tokens find there, decayed after it.
struct TokenGradients {
  ChunkKeys::Rows query, looking, found, decay;
  std::array<float, kChunk> shared_decay;  // what all channels receive together of what tokens read of earlier ones
};

struct alignas(64) BackwardScratch {
  std::array<ChunkKeys, kChunksApart> keys;
  std::array<ChunkValues, kChunksApart> values;
  std::array<StateTile, kChunksApart> states;  // before each chunk; the first if it is not read where it is kept
  std::array<ChunkGradients, kChunksApart> sums;
  StateTile gradient;  // of the state, where it is not received where it lies
  Prefetches prefetches;
  std::array<float, 2 * kChunk * kStateColumns> arrived;     // do, then -dv, read where the head erases
  std::array<float, 2 * kChunk * kStateColumns> arrived_by;  // the same, a column for every token
  ChunkValues::Rows written_by, dwritten;                    // u so, du
  TokenGradients tokens;
};

// Of this thread, for as long as it lives: a megabyte, more than a stack should lend, that no step allocates anew.
BackwardScratch& backward_scratch() {
  static thread_local const auto scratch = std::make_unique_for_overwrite<BackwardScratch>();
  return *scratch;
}

template <typename A>
class BackwardScan {
 public:
  BackwardScan(const StateScanBackward& args, int64_t b, int64_t n, BackwardScratch& scratch)
      : args_(args),
        head_(args.inputs, b, n),
        keys_(head_.keys()),
        values_(head_.values()),
        rows_(head_.stride()),
        s_(scratch) {}

  // Before all parts: the gradient of the last state.
  void begin() {
    float* gradient = state_gradient();
    const float* last = data_of<float>(args_.dfinal);
    if (last == nullptr) {
      std::fill_n(gradient, keys_ * values_, 0.0F);
    } else if (last != args_.dinitial.as<float>()) {
      std::copy_n(last + head_.number() * keys_ * values_, keys_ * values_, gradient);
    }
  }

  // Adds what run(part) reads; nothing before the first part.
  void prefetch(int64_t part) const {
    if (part < 0) return;
    const Range tokens = part_of(part, head_.tokens());
    head_.prefetch_keys(tokens, s_.prefetches);
    head_.prefetch(args_.inputs.v, tokens, {0, values_}, s_.prefetches);
    head_.prefetch(args_.doutput, tokens, {0, values_}, s_.prefetches);
    const int64_t row = values_ * static_cast<int64_t>(sizeof(float));
    s_.prefetches.add(kept(part), keys_, row, row);
  }

  // From the gradient of the state after a part of the tokens to that of the one before it. Then comes
  // next.run(next_part).
  void run(int64_t part, const BackwardScan& next, int64_t next_part) {
    const Range tokens = part_of(part, head_.tokens());
    const int64_t chunks = chunks_of(tokens);
    s_.prefetches.clear();
    head_.prefetch(args_.dv, tokens, {0, values_}, s_.prefetches);
    head_.prefetch(args_.dq, tokens, {0, keys_}, s_.prefetches);
    head_.prefetch(args_.dk, tokens, {0, keys_}, s_.prefetches);
    if (head_.decay_rank() == 4) head_.prefetch(args_.dlog_decay, tokens, {0, keys_}, s_.prefetches);
    next.prefetch(next_part);
    for (int64_t i = 0; i < chunks; ++i) {
      s_.keys[i].load(head_, chunk_of(tokens, i));
      s_.sums[i].clear(rows_);
    }
    for (int64_t column = 0; column < values_; column += kStateColumns) {
      const StateColumns columns{column, std::min(kStateColumns, values_ - column)};
      const bool in_place = can_scan_in_place(keys_, values_, columns);
      const bool is_last = column + kStateColumns >= values_;
      gradient_ = in_place ? state_gradient() : s_.gradient.data();
      if (!in_place) load_state(state_gradient(), keys_, values_, columns, gradient_);
      remake(part, chunks, columns, in_place);
      for (int64_t i = chunks - 1; i >= 0; --i) {
        go_back(i, columns);
        if (is_last) finish(s_.keys[i], s_.sums[i]);
      }
      if (!in_place) store_state(gradient_, keys_, values_, columns, state_gradient());
    }
  }

 private:
  float* state_gradient() const { return args_.dinitial.as<float>() + head_.number() * keys_ * values_; }

  const float* kept(int64_t part) const {
    return args_.kept.as<float>() +
           (head_.number() * kept_states(head_.tokens(), DeviceKind::kCpu) + part) * keys_ * values_;
  }

  void remake(int64_t part, int64_t chunks, StateColumns columns, bool in_place) {
    const int64_t stride = columns.stride();
    if (!in_place) load_state(kept(part), keys_, values_, columns, s_.states[0].data());
    states_[0] = in_place ? kept(part) : s_.states[0].data();
    for (int64_t i = 0; i < chunks; ++i) {
      const ChunkKeys& keys = s_.keys[i];
      ChunkValues& values = s_.values[i];
      load_values(head_, args_.inputs.v, keys.tokens(), columns, values.written.data());
      if (head_.erases()) values.read_keys(keys, states_[i], rows_, stride, s_.prefetches);
      values.write(keys, head_.erases(), stride);
      if (i + 1 == chunks) continue;
      values.advance(keys, states_[i], s_.states[i + 1].data(), rows_, stride, s_.prefetches);
      states_[i + 1] = s_.states[i + 1].data();
    }
  }

  void go_back(int64_t number, StateColumns columns) {
    const ChunkKeys& keys = s_.keys[number];
    const ChunkValues& values = s_.values[number];
    const float* state = states_[number];
    ChunkGradients& sums = s_.sums[number];
    const int64_t stride = columns.stride();
    const bool erases = head_.erases();
    load_values(head_, args_.doutput, keys.tokens(), columns, s_.arrived.data());
    tile_gemm({.rows = kChunk,
               .columns = stride,
               .depth = kChunk,
               .a = square(keys.scores.data()).transposed(),
               .b = s_.arrived.data(),
               .b_stride = stride,
               .c = s_.dwritten.data(),
               .c_stride = stride});
    tile_gemm({.rows = kChunk,
               .columns = stride,
               .depth = keys_,
               .a = {keys.writes(), rows_, 1},
               .b = gradient_,
               .b_stride = stride,
               .c = s_.dwritten.data(),
               .c_stride = stride,
               .accumulate = true},
              s_.prefetches);
    receive(keys, values, columns, sums);
    const int64_t arrivals = erases ? 2 * kChunk : kChunk;
    transpose(s_.arrived.data(), arrivals, stride, stride, s_.arrived_by.data(), 2 * kChunk);
    transpose(values.written.data(), kChunk, stride, stride, s_.written_by.data(), kChunk);
    tile_gemm({.rows = rows_,
               .columns = arrivals,
               .depth = columns.count,
               .a = {state, stride, 1},
               .b = s_.arrived_by.data(),
               .b_stride = 2 * kChunk,
               .c = sums.reads.data(),
               .c_stride = 2 * kChunk,
               .accumulate = columns.first > 0},
              s_.prefetches);
    tile_gemm({.rows = rows_,
               .columns = kChunk,
               .depth = columns.count,
               .a = {gradient_, stride, 1},
               .b = s_.written_by.data(),
               .b_stride = kChunk,
               .c = sums.writes.data(),
               .c_stride = kChunk,
               .accumulate = columns.first > 0},
              s_.prefetches);
    tile_gemm({.rows = arrivals,
               .columns = kChunk,
               .depth = columns.count,
               .a = {s_.arrived.data(), stride, 1},
               .b = s_.written_by.data(),
               .b_stride = kChunk,
               .c = sums.pairs.data(),
               .c_stride = kChunk,
               .accumulate = columns.first > 0});
    if (!args_.dlog_decay.empty()) add_carry(state, stride, sums);
    tile_gemm_onto({gradient_, keys.carry()},
                   {.rows = rows_,
                    .columns = stride,
                    .depth = arrivals,
                    .a = TileOperand{keys.reads(), rows_, 1}.transposed(),
                    .b = s_.arrived.data(),
                    .b_stride = stride,
                    .c = gradient_,
                    .c_stride = stride},
                   s_.prefetches);
  }

  // The gradients of u, the last token's first, since the keys of later ones found what it wrote; of v, and of beta.
  void receive(const ChunkKeys& keys, const ChunkValues& values, StateColumns columns, ChunkGradients& sums) {
    const int64_t stride = columns.stride();
    float* dfound = s_.arrived.data() + kChunk * stride;  // -dv
    load_values(head_, args_.inputs.v, keys.tokens(), columns, dfound);
    for (int64_t t = kChunk - 1; t >= 0; --t) {
      const int64_t later = t + 1;
      if (head_.erases() && later < keys.tokens().count) {
        add_rows(keys.tokens().count - later, keys.overlaps.data() + later * kChunk + t, kChunk,
                 dfound + later * stride, stride, s_.dwritten.data() + t * stride);
      }
      Vector products = {};
      for (int64_t c = 0; c < stride; c += kLanes) {
        const int64_t at = t * stride + c;
        const Vector dwritten = load_vector(s_.dwritten.data() + at);
        Vector value = load_vector(dfound + at);
        if (head_.erases() && t < keys.tokens().count) value -= load_vector(values.found.data() + at);
        products += dwritten * value;
        store_vector(s_.dwritten.data() + at, keys.beta[t] * dwritten);
        store_vector(dfound + at, -keys.beta[t] * dwritten);
      }
      sums.beta[t] += sum_of_lanes(products);
    }
    store_values(head_, s_.dwritten.data(), keys.tokens(), columns, args_.dv);
  }

  void add_carry(const float* state, int64_t stride, ChunkGradients& sums) {
    for (int64_t i = 0; i < keys_; ++i) {
      Vector products = {};
      for (int64_t c = 0; c < stride; c += kLanes)
        products += load_vector(state + i * stride + c) * load_vector(gradient_ + i * stride + c);
      sums.carry[i] += sum_of_lanes(products);
    }
  }

  // From the sums over all columns to what each token's query, key and decay receive.
  void finish(const ChunkKeys& keys, const ChunkGradients& sums) {
    TokenGradients& to = s_.tokens;
    transpose(sums.reads.data(), rows_, kChunk, 2 * kChunk, to.query.data(), rows_);
    if (head_.erases()) {
      transpose(sums.reads.data() + kChunk, rows_, kChunk, 2 * kChunk, to.looking.data(), rows_);
    } else {
      std::fill_n(to.looking.data(), kChunk * rows_, 0.0F);
    }
    transpose(sums.writes.data(), rows_, kChunk, kChunk, to.found.data(), rows_);
    for (int64_t i = 0; head_.decay_rank() > 0 && i < rows_; i += kLanes) pass_decays(keys, sums, i);
    if (head_.decay_rank() == 4) {
      for (int64_t i = 0; i < rows_; i += kLanes)
        head_.erases() ? pass_pairs<true>(keys, sums, i) : pass_pairs<false>(keys, sums, i);
    } else {
      pass_pairs_at_once(keys, sums);
    }
    for (int64_t t = 0; t < keys.tokens().count; ++t) store_token(keys, sums, t);
  }

  // From what reads the state before the chunk, and writes the one after it, to queries and keys. A decay receives of
  // what is read by its token and later ones, of what was written by earlier ones, and of what stays: never as a
  // difference, which would lose those of heads that forget almost everything.
  void pass_decays(const ChunkKeys& keys, const ChunkGradients& sums, int64_t i) {
    TokenGradients& to = s_.tokens;
    const auto scale = [](float* at, Vector factor) {
      const Vector scaled = factor * load_vector(at);
      store_vector(at, scaled);
      return scaled;
    };
    Vector kept = Vector{} + 1.0F;
    for (int64_t t = 0; t < kChunk; ++t) {
      const int64_t at = t * rows_ + i;
      kept *= keys.decays(t, i);
      const Vector query = scale(to.query.data() + at, kept), key = scale(to.looking.data() + at, kept);
      store_vector(to.decay.data() + at, query * load_vector(keys.query() + at) + key * load_vector(keys.key() + at));
    }
    Vector read = kept * load_vector(sums.carry.data() + i);
    kept = Vector{} + 1.0F;
    for (int64_t t = kChunk - 1; t >= 0; --t) {
      const int64_t at = t * rows_ + i;
      scale(to.found.data() + at, kept);
      kept *= keys.decays(t, i);
      read += load_vector(to.decay.data() + at);
      store_vector(to.decay.data() + at, read);
    }
    Vector written = {};
    for (int64_t at = i; at < kChunk * rows_; at += rows_) {
      store_vector(to.decay.data() + at, written + load_vector(to.decay.data() + at));
      written += load_vector(keys.key() + at) * load_vector(to.found.data() + at);
    }
  }

  // The same of what tokens read of earlier ones of the chunk.
  template <bool kErases>
  void pass_pairs(const ChunkKeys& keys, const ChunkGradients& sums, int64_t i) {
    const int64_t tokens = keys.tokens().count, stride = rows_;
    const auto row = [i, stride](const float* rows, int64_t t) { return load_vector(rows + t * stride + i); };
    const auto add = [i, stride](ChunkKeys::Rows& rows, int64_t t, Vector term) {
      float* to = rows.data() + t * stride + i;
      store_vector(to, load_vector(to) + term);
    };
    TokenGradients& to = s_.tokens;
    const float* queries = keys.query();
    const float* of_keys = keys.key();
    const float* dscores = sums.pairs.data();
    const float* doverlaps = dscores + kChunk * kChunk;
    std::array<Vector, kChunk> decays;
    for (int64_t t = 0; t < tokens; ++t) decays[t] = keys.decays(t, i);
    for (int64_t s = 0; s < tokens; ++s) {
      std::array<Vector, kChunk> key;  // of s, decayed up to each token
      key[s] = row(of_keys, s);
      add(to.query, s, dscores[s * kChunk + s] * key[s]);
      for (int64_t t = s + 1; t < tokens; ++t) {
        key[t] = key[t - 1] * decays[t];
        add(to.query, t, dscores[t * kChunk + s] * key[t]);
        if constexpr (kErases) add(to.looking, t, doverlaps[t * kChunk + s] * key[t]);
      }
      Vector from_later = {};
      for (int64_t t = tokens - 1; t > s; --t) {
        from_later += dscores[t * kChunk + s] * row(queries, t);
        if constexpr (kErases) from_later += doverlaps[t * kChunk + s] * row(of_keys, t);
        add(to.decay, t, from_later * key[t]);
        from_later *= decays[t];
      }
      add(to.found, s, from_later + dscores[s * kChunk + s] * row(queries, s));
    }
  }

  // Row t of `square`: that of `pairs` up to token `last`, by how much is left of each.
  static void decay_row(const std::array<float, kChunk>& left, const float* pairs, int64_t t, int64_t last,
                        ChunkKeys::Square& square) {
#pragma omp simd
    for (int64_t s = 0; s < kChunk; ++s) square[t * kChunk + s] = s <= last ? left[s] * pairs[t * kChunk + s] : 0.0F;
  }
  static void add_products(const float* pairs, const ChunkKeys::Square& square, int64_t t,
                           std::array<float, kChunk>& sums) {
#pragma omp simd
    for (int64_t s = 0; s < kChunk; ++s) sums[s] += s < t ? pairs[t * kChunk + s] * square[t * kChunk + s] : 0.0F;
  }

  // Where channels share their decays: as products of tiles.
  void pass_pairs_at_once(const ChunkKeys& keys, const ChunkGradients& sums) {
    alignas(64) ChunkKeys::Square dscores = {}, doverlaps = {};  // of products without decays
    TokenGradients& to = s_.tokens;
    const float* dpairs = sums.pairs.data();
    alignas(64) std::array<float, kChunk> left = {}, read = {};  // L[t, .]; what tokens from t on read of each
    for (int64_t t = 0; t < keys.tokens().count; ++t) {
      decay_to(t, keys.decay(t), left);
      decay_row(left, dpairs, t, t, dscores);
      if (head_.erases()) decay_row(left, dpairs + kChunk * kChunk, t, t - 1, doverlaps);
    }
    for (int64_t t = keys.tokens().count - 1; !args_.dlog_decay.empty() && t >= 0; --t) {
      add_products(dpairs, keys.scores, t, read);
      if (head_.erases()) add_products(dpairs + kChunk * kChunk, keys.overlaps, t, read);
      float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
      for (int64_t s = 0; s < kChunk; ++s) sum += s < t ? read[s] : 0.0F;
      to.shared_decay[t] = sum;
    }
    const auto add = [&](TileOperand pairs, const float* rows, ChunkKeys::Rows& sum) {
      tile_gemm({.rows = kChunk,
                 .columns = rows_,
                 .depth = kChunk,
                 .a = pairs,
                 .b = rows,
                 .b_stride = rows_,
                 .c = sum.data(),
                 .c_stride = rows_,
                 .accumulate = true});
    };
    add(square(dscores.data()), keys.key(), to.query);
    add(square(dscores.data()).transposed(), keys.query(), to.found);
    if (!head_.erases()) return;
    add(square(doverlaps.data()), keys.key(), to.looking);
    add(square(doverlaps.data()).transposed(), keys.key(), to.found);
  }

  void store_token(const ChunkKeys& keys, const ChunkGradients& sums, int64_t t) {
    TokenGradients& from = s_.tokens;
    const int64_t place = head_.place(keys.tokens().first + t);
    float* query = from.query.data() + t * rows_;
    float* key = from.looking.data() + t * rows_;
    for (int64_t i = 0; i < rows_; i += kLanes) {
      store_vector(query + i, head_.scale() * load_vector(query + i));
      store_vector(key + i, load_vector(key + i) + load_vector(from.found.data() + t * rows_ + i));
    }
    store_row(args_.dq.as<A>() + place * keys_, query, keys_);
    store_row(args_.dk.as<A>() + place * keys_, key, keys_);
    if (!args_.dbeta.empty()) args_.dbeta.as<float>()[place] = sums.beta[t];
    if (args_.dlog_decay.empty()) return;
    const float* decay = from.decay.data() + t * rows_;
    if (head_.decay_rank() == 4) {
      std::copy_n(decay, keys_, args_.dlog_decay.as<float>() + place * keys_);
    } else {
      Vector sum = {};
      for (int64_t i = 0; i < rows_; i += kLanes) sum += load_vector(decay + i);
      args_.dlog_decay.as<float>()[place] = sum_of_lanes(sum) + from.shared_decay[t];
    }
  }

  const StateScanBackward& args_;
  StateHead<A> head_;
  int64_t keys_, values_, rows_;
  BackwardScratch& s_;
  std::array<const float*, kChunksApart> states_;  // before each chunk
  float* gradient_;                                // of the state, as products have it
};

template <typename A>
void scan_back(const Queue& queue, const StateScanBackward& args) {
  const Shape& q = args.inputs.q.shape;
  const int64_t work = q.elements() * args.inputs.v.shape[3];
  const auto threads = static_cast<int>(std::min<int64_t>(threads_for(queue, work), q[0] * q[2]));
  const int64_t together = heads_of_a_piece(q[0], q[2], threads);
#pragma omp parallel num_threads(threads)
  {
    BackwardScratch& scratch = backward_scratch();
#pragma omp for collapse(2) schedule(static)
    for (int64_t b = 0; b < q[0]; ++b) {
      for (int64_t first_head = 0; first_head < q[2]; first_head += together) {
        const int64_t end = std::min(first_head + together, q[2]);
        const auto scan_of = [&](int64_t n) { return BackwardScan<A>(args, b, n, scratch); };
        for (int64_t n = first_head; n < end; ++n) scan_of(n).begin();
        for (int64_t part = kept_states(q[1], DeviceKind::kCpu) - 1; part >= 0; --part) {
          for (int64_t n = first_head; n < end; ++n) {
            const bool is_last = n + 1 == end;  // the first comes next, with the part before
            scan_of(n).run(part, scan_of(is_last ? first_head : n + 1), is_last ? part - 1 : part);
          }
        }
      }
    }
  }
}

}  // namespace

void state_scan_backward(Queue& queue, const StateScanBackward& args) {
  with_activations(args.inputs.q.dtype, [&]<typename A>() { scan_back<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
