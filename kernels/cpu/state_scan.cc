// Token after token, for a few columns of a head's state that stay in the first-level cache: a step reads and writes
// each element once or twice for its four to six operations.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kColumns = 16;  // of the state, at a time
constexpr int64_t kVectors = kColumns / kLanes;
constexpr int64_t kRows = 4;  // sums that do not wait for each other

using Columns = std::array<Vector, kVectors>;

struct alignas(64) StateTile {
  std::array<float, kMaxStateKeys * kColumns> elements;

  Columns row(int64_t i) const {
    Columns row;
    for (int64_t c = 0; c < kVectors; ++c) row[c] = load_vector(elements.data() + i * kColumns + c * kLanes);
    return row;
  }
  void set_row(int64_t i, const Columns& row) {
    for (int64_t c = 0; c < kVectors; ++c) store_vector(elements.data() + i * kColumns + c * kLanes, row[c]);
  }
};

// Vectors of a token, padded with zeros to whole groups of rows.
using Channels = std::array<float, kMaxStateKeys>;

int64_t padded_rows(int64_t keys) { return (keys + kRows - 1) / kRows * kRows; }

// The columns of one head that are worked on, of [.., V] tensors.
struct ColumnRange {
  int64_t first, count;
};

template <typename A>
Columns load_columns(const A* row, ColumnRange columns) {
  alignas(64) std::array<float, kColumns> values = {};
  for (int64_t c = 0; c < columns.count; ++c) values[c] = load(row + columns.first + c);
  Columns loaded;
  for (int64_t c = 0; c < kVectors; ++c) loaded[c] = load_vector(values.data() + c * kLanes);
  return loaded;
}

template <typename A>
void store_columns(A* row, ColumnRange columns, const Columns& stored) {
  alignas(64) std::array<float, kColumns> values;
  for (int64_t c = 0; c < kVectors; ++c) store_vector(values.data() + c * kLanes, stored[c]);
  for (int64_t c = 0; c < columns.count; ++c) store(row + columns.first + c, values[c]);
}

// All that a scan reads, of one stream and head.
template <typename A>
class Head {
 public:
  Head(const StateScanInputs& in, int64_t b, int64_t n)
      : in_(in),
        tokens_(in.q.shape[1]),
        heads_(in.q.shape[2]),
        keys_(in.q.shape[3]),
        values_(in.v.shape[3]),
        b_(b),
        n_(n),
        decay_rank_(in.log_decay.empty() ? 0 : in.log_decay.shape.rank()) {
    if (decay_rank_ <= 1) fill_decay(decay_rank_ == 0 ? 1.0F : std::exp(in.log_decay.as<float>()[n]));
  }

  int64_t keys() const { return keys_; }
  int64_t values() const { return values_; }
  int64_t tokens() const { return tokens_; }
  // Of [B, T, N, ..] tensors.
  int64_t place(int64_t t) const { return (b_ * tokens_ + t) * heads_ + n_; }
  // Of [B, N, K, V] tensors.
  int64_t state_place() const { return (b_ * heads_ + n_) * keys_ * values_; }

  void read(int64_t t) {
    const A* q = in_.q.as<A>() + place(t) * keys_;
    const A* k = in_.k.as<A>() + place(t) * keys_;
    for (int64_t i = 0; i < keys_; ++i) {
      query[i] = load(q + i);
      key[i] = load(k + i);
    }
    if (decay_rank_ == 3) fill_decay(std::exp(in_.log_decay.as<float>()[place(t)]));
    if (decay_rank_ == 4) {
      const float* channels = in_.log_decay.as<float>() + place(t) * keys_;
      for (int64_t i = 0; i < keys_; ++i) decay[i] = std::exp(channels[i]);
    }
    beta = in_.beta.empty() ? 1.0F : in_.beta.as<float>()[place(t)];
  }
  Columns value(int64_t t, ColumnRange columns) const {
    return load_columns(in_.v.as<A>() + place(t) * values_, columns);
  }

  Channels query = {}, key = {}, decay = {};
  float beta = 1.0F;

 private:
  void fill_decay(float factor) { std::fill_n(decay.begin(), keys_, factor); }

  const StateScanInputs& in_;
  int64_t tokens_, heads_, keys_, values_, b_, n_;
  int decay_rank_;
};

void load_state(const float* from, int64_t keys, int64_t values, ColumnRange columns, StateTile& state) {
  for (int64_t i = 0; i < padded_rows(keys); ++i)
    state.set_row(i, from == nullptr || i >= keys ? Columns{} : load_columns(from + i * values, columns));
}

void store_state(const StateTile& state, int64_t keys, int64_t values, ColumnRange columns, float* to) {
  for (int64_t i = 0; i < keys; ++i) store_columns(to + i * values, columns, state.row(i));
}

Columns sum_of(const std::array<Columns, kRows>& sums) {
  Columns sum;
  for (int64_t c = 0; c < kVectors; ++c) sum[c] = (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]);
  return sum;
}

// One token's step from `before`, which may be `after`. Returns what it writes, and in `found` what its key found.
template <bool kErases, typename A>
Columns write_token(const Head<A>& head, const Columns& value, const StateTile& before, StateTile& after,
                    Columns& found) {
  const int64_t rows = padded_rows(head.keys());
  found = {};
  if constexpr (kErases) {
    std::array<Columns, kRows> sums = {};
    for (int64_t i = 0; i < rows; i += kRows) {
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        Columns row = before.row(i + r);
        for (int64_t c = 0; c < kVectors; ++c) {
          row[c] *= head.decay[i + r];
          sums[r][c] += head.key[i + r] * row[c];
        }
        after.set_row(i + r, row);
      }
    }
    found = sum_of(sums);
  }
  Columns written;
  for (int64_t c = 0; c < kVectors; ++c) written[c] = head.beta * (value[c] - found[c]);
  const StateTile& decayed = kErases ? after : before;
  for (int64_t i = 0; i < rows; ++i) {
    Columns row = decayed.row(i);
    for (int64_t c = 0; c < kVectors; ++c) {
      if constexpr (!kErases) row[c] *= head.decay[i];
      row[c] += head.key[i] * written[c];
    }
    after.set_row(i, row);
  }
  return written;
}

// S' x
Columns read_state(const StateTile& state, const Channels& x, int64_t keys) {
  std::array<Columns, kRows> sums = {};
  for (int64_t i = 0; i < padded_rows(keys); i += kRows) {
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      const Columns row = state.row(i + r);
      for (int64_t c = 0; c < kVectors; ++c) sums[r][c] += x[i + r] * row[c];
    }
  }
  return sum_of(sums);
}

template <typename A, bool kErases>
void scan_columns(const StateScanForward& args, int64_t b, int64_t n, ColumnRange columns) {
  Head<A> head(args.inputs, b, n);
  const int64_t keys = head.keys(), values = head.values();
  StateTile state;
  const float* initial = data_of<float>(args.inputs.initial);
  load_state(initial == nullptr ? nullptr : initial + head.state_place(), keys, values, columns, state);
  float* kept = data_of<float>(args.kept);
  if (kept != nullptr) kept += head.state_place() * kept_states(head.tokens());
  for (int64_t t = 0; t < head.tokens(); ++t) {
    if (kept != nullptr && t % kStatesApart == 0)
      store_state(state, keys, values, columns, kept + t / kStatesApart * keys * values);
    head.read(t);
    Columns found;
    write_token<kErases>(head, head.value(t, columns), state, state, found);
    Columns output = read_state(state, head.query, keys);
    for (Vector& part : output) part *= args.inputs.scale;
    store_columns(args.output.as<A>() + head.place(t) * values, columns, output);
  }
  store_state(state, keys, values, columns, args.final.as<float>() + head.state_place());
}

template <typename A>
void scan(const Queue& queue, const StateScanForward& args) {
  const Shape& q = args.inputs.q.shape;
  const int64_t values = args.inputs.v.shape[3];
  const auto run = args.inputs.erases ? scan_columns<A, true> : scan_columns<A, false>;
#pragma omp parallel for collapse(3) schedule(static) num_threads(threads_for(queue, q.elements() * values))
  for (int64_t b = 0; b < q[0]; ++b) {
    for (int64_t n = 0; n < q[2]; ++n) {
      for (int64_t first = 0; first < values; first += kColumns)
        run(args, b, n, {first, std::min(kColumns, values - first)});
    }
  }
}

float sum_of_columns(const Columns& columns) {
  Vector sum = columns[0];
  for (int64_t c = 1; c < kVectors; ++c) sum += columns[c];
  return sum_of_lanes(sum);
}

// Between two kept states.
struct TokenRange {
  int64_t first, count;
};

// The sums over all columns, of the tokens of one range.
struct RangeGradients {
  std::array<Channels, kStatesApart> query, key, decay;
  std::array<float, kStatesApart> beta;
};

// The states of one range, made anew for some columns.
struct RangeStates {
  std::array<StateTile, kStatesApart + 1> state;  // before the first token, and after each
  std::array<Columns, kStatesApart> written, found;
};

template <typename A, bool kErases>
class BackwardScan {
 public:
  BackwardScan(const StateScanBackward& args, int64_t b, int64_t n) : args_(args), head_(args.inputs, b, n) {}

  void run() {
    const int64_t keys = head_.keys(), values = head_.values();
    float* gradient = args_.dinitial.as<float>() + head_.state_place();
    const float* last = data_of<float>(args_.dfinal);
    if (last == nullptr) {
      std::fill_n(gradient, keys * values, 0.0F);
    } else if (last != args_.dinitial.as<float>()) {
      std::copy_n(last + head_.state_place(), keys * values, gradient);
    }
    for (int64_t number = kept_states(head_.tokens()) - 1; number >= 0; --number) {
      const TokenRange range{number * kStatesApart, std::min(kStatesApart, head_.tokens() - number * kStatesApart)};
      sums_ = {};
      for (int64_t first = 0; first < values; first += kColumns) {
        const ColumnRange columns{first, std::min(kColumns, values - first)};
        remake(range, columns);
        load_state(gradient, keys, values, columns, gradient_);
        for (int64_t t = range.count - 1; t >= 0; --t) go_back(range.first + t, t, columns);
        store_state(gradient_, keys, values, columns, gradient);
      }
      store_sums(range);
    }
  }

 private:
  void remake(TokenRange range, ColumnRange columns) {
    const int64_t keys = head_.keys(), values = head_.values();
    const float* kept = args_.kept.as<float>() + head_.state_place() * kept_states(head_.tokens());
    load_state(kept + range.first / kStatesApart * keys * values, keys, values, columns, states_.state[0]);
    for (int64_t t = 0; t < range.count; ++t) {
      head_.read(range.first + t);
      states_.written[t] = write_token<kErases>(head_, head_.value(range.first + t, columns), states_.state[t],
                                                states_.state[t + 1], states_.found[t]);
    }
  }

  void go_back(int64_t token, int64_t t, ColumnRange columns) {
    head_.read(token);
    const int64_t keys = head_.keys();
    Columns doutput = load_columns(args_.doutput.as<A>() + head_.place(token) * head_.values(), columns);
    for (Vector& part : doutput) part *= args_.inputs.scale;
    for (int64_t i = 0; i < keys; ++i) {
      Columns row = gradient_.row(i);
      for (int64_t c = 0; c < kVectors; ++c) row[c] += head_.query[i] * doutput[c];
      gradient_.set_row(i, row);
    }
    const Columns dwritten = read_state(gradient_, head_.key, keys);
    const Columns value = head_.value(token, columns);
    Columns dvalue, products;
    for (int64_t c = 0; c < kVectors; ++c) {
      dvalue[c] = head_.beta * dwritten[c];
      products[c] = dwritten[c] * (value[c] - states_.found[t][c]);
    }
    sums_.beta[t] += sum_of_columns(products);
    store_columns(args_.dv.as<A>() + head_.place(token) * head_.values(), columns, dvalue);
    for (int64_t i = 0; i < keys; ++i) {
      const Columns before = states_.state[t].row(i), after = states_.state[t + 1].row(i);
      Columns row = gradient_.row(i);
      Columns for_query, for_key, for_decay;
      for (int64_t c = 0; c < kVectors; ++c) {
        const Vector decayed = before[c] * head_.decay[i];
        for_query[c] = after[c] * doutput[c];
        for_key[c] = row[c] * states_.written[t][c];
        if constexpr (kErases) {
          for_key[c] -= decayed * dvalue[c];
          row[c] -= head_.key[i] * dvalue[c];
        }
        for_decay[c] = row[c] * decayed;
        row[c] *= head_.decay[i];
      }
      gradient_.set_row(i, row);
      sums_.query[t][i] += sum_of_columns(for_query);
      sums_.key[t][i] += sum_of_columns(for_key);
      sums_.decay[t][i] += sum_of_columns(for_decay);
    }
  }

  void store_sums(TokenRange range) {
    const int64_t keys = head_.keys();
    for (int64_t t = 0; t < range.count; ++t) {
      const int64_t place = head_.place(range.first + t);
      store_row(args_.dq.as<A>() + place * keys, sums_.query[t].data(), keys);
      store_row(args_.dk.as<A>() + place * keys, sums_.key[t].data(), keys);
      if (!args_.dbeta.empty()) args_.dbeta.as<float>()[place] = sums_.beta[t];
      if (args_.dlog_decay.empty()) continue;
      if (args_.dlog_decay.shape.rank() == 4) {
        std::copy_n(sums_.decay[t].begin(), keys, args_.dlog_decay.as<float>() + place * keys);
      } else {
        float sum = 0.0F;
        for (int64_t i = 0; i < keys; ++i) sum += sums_.decay[t][i];
        args_.dlog_decay.as<float>()[place] = sum;
      }
    }
  }

  const StateScanBackward& args_;
  Head<A> head_;
  RangeGradients sums_;
  RangeStates states_;
  StateTile gradient_;
};

template <typename A>
void scan_back(const Queue& queue, const StateScanBackward& args) {
  const Shape& q = args.inputs.q.shape;
  const int64_t work = q.elements() * args.inputs.v.shape[3];
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_for(queue, work))
  for (int64_t b = 0; b < q[0]; ++b) {
    for (int64_t n = 0; n < q[2]; ++n) {
      if (args.inputs.erases) {
        BackwardScan<A, true>(args, b, n).run();
      } else {
        BackwardScan<A, false>(args, b, n).run();
      }
    }
  }
}

}  // namespace

void state_scan_forward(Queue& queue, const StateScanForward& args) {
  with_activations(args.inputs.q.dtype, [&]<typename A>() { scan<A>(queue, args); });
}

void state_scan_backward(Queue& queue, const StateScanBackward& args) {
  with_activations(args.inputs.q.dtype, [&]<typename A>() { scan_back<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
