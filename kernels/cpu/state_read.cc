// Blocks of tokens against a few columns of a head's state at a time; the state's gradient by columns, over all tokens.
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/state_chunk.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kBlockTokens = 4 * kChunk;

using KeyRows = std::array<float, kMaxStateKeys * kBlockTokens>;
using ValueRows = std::array<float, kStateColumns * kBlockTokens>;

// The tokens of a scan that writes nothing.
StateScanInputs read_inputs(ConstTensorView q, ConstTensorView values) {
  return {.q = q, .k = q, .v = values, .log_decay = {}, .beta = {}, .initial = {}};
}

// Rows [kBlockTokens, stride]; zeros where there is no token or column.
template <typename A>
void load_block(const StateHead<A>& head, const ConstTensorView& from, Range tokens, StateColumns columns,
                float* rows) {
  for (int64_t t = 0; t < kBlockTokens; t += kChunk, rows += kChunk * columns.stride())
    load_values(head, from, {tokens.first + t, tokens.count - t}, columns, rows);
}
template <typename A>
void load_queries(const StateHead<A>& head, Range tokens, float* rows) {
  for (int64_t t = 0; t < tokens.count; ++t) head.load_query(tokens.first + t, rows + t * head.stride());
  std::fill(rows + tokens.count * head.stride(), rows + kBlockTokens * head.stride(), 0.0F);
}

// call(columns) for columns [first, first + kStateColumns) and so on.
template <typename Call>
void for_each_columns(int64_t values, const Call& call) {
  for (int64_t first = 0; first < values; first += kStateColumns)
    call(StateColumns{first, std::min(kStateColumns, values - first)});
}

// call(head, tokens, scratch) for all blocks of tokens.
template <typename Scratch, typename A, typename Call>
void for_each_block(const Queue& queue, const StateScanInputs& in, const Call& call) {
  const Shape& q = in.q.shape;
#pragma omp parallel num_threads(threads_for(queue, q.elements() * in.v.shape[3]))
  {
    Scratch scratch;
#pragma omp for collapse(3) schedule(static)
    for (int64_t b = 0; b < q[0]; ++b) {
      for (int64_t n = 0; n < q[2]; ++n) {
        for (int64_t first = 0; first < q[1]; first += kBlockTokens)
          call(StateHead<A>(in, b, n), Range{first, std::min(kBlockTokens, q[1] - first)}, scratch);
      }
    }
  }
}

struct alignas(64) ForwardScratch {
  KeyRows queries;
  StateTile state;
  ValueRows read;
};

template <typename A>
void read_state(const Queue& queue, const StateReadForward& args) {
  const StateScanInputs in = read_inputs(args.q, args.output);
  for_each_block<ForwardScratch, A>(queue, in, [&](const StateHead<A>& head, Range tokens, ForwardScratch& s) {
    const int64_t keys = head.keys(), values = head.values();
    const float* state = args.state.as<float>() + head.number() * keys * values;
    load_queries(head, tokens, s.queries.data());
    for_each_columns(values, [&](StateColumns columns) {
      load_state(state, keys, values, columns, s.state.data());
      tile_gemm({.rows = tokens.count,
                 .columns = columns.stride(),
                 .depth = keys,
                 .a = {s.queries.data(), head.stride(), 1},
                 .b = s.state.data(),
                 .b_stride = columns.stride(),
                 .c = s.read.data(),
                 .c_stride = columns.stride()});
      store_values(head, s.read.data(), tokens, columns, args.output);
    });
  });
}

struct alignas(64) QueryScratch {
  StateTile state;
  ValueRows arrived, arrived_by;  // rows of tokens, and a column for every token
  KeyRows received_by, received;  // a column for every token, and rows of tokens
};

template <typename A>
void pass_to_queries(const Queue& queue, const StateReadBackward& args) {
  const StateScanInputs in = read_inputs(args.q, args.doutput);
  for_each_block<QueryScratch, A>(queue, in, [&](const StateHead<A>& head, Range tokens, QueryScratch& s) {
    const int64_t keys = head.keys(), values = head.values(), rows = head.stride();
    const float* state = args.state.as<float>() + head.number() * keys * values;
    for_each_columns(values, [&](StateColumns columns) {
      load_state(state, keys, values, columns, s.state.data());
      load_block(head, args.doutput, tokens, columns, s.arrived.data());
      transpose(s.arrived.data(), kBlockTokens, columns.stride(), columns.stride(), s.arrived_by.data(), kBlockTokens);
      tile_gemm({.rows = rows,
                 .columns = padded(tokens.count),
                 .depth = columns.count,
                 .a = {s.state.data(), columns.stride(), 1},
                 .b = s.arrived_by.data(),
                 .b_stride = kBlockTokens,
                 .c = s.received_by.data(),
                 .c_stride = kBlockTokens,
                 .accumulate = columns.first > 0});
    });
    transpose(s.received_by.data(), rows, kBlockTokens, kBlockTokens, s.received.data(), rows);
    for (int64_t t = 0; t < tokens.count; ++t)
      store_row(args.dq.as<A>() + head.place(tokens.first + t) * keys, s.received.data() + t * rows, keys);
  });
}

struct alignas(64) StateScratch {
  KeyRows queries;
  ValueRows arrived;
  StateTile gradient;
};

// Some columns of a head, whose sums over tokens no other thread takes part in.
template <typename A>
void pass_to_columns(const StateReadBackward& args, const StateHead<A>& head, StateColumns columns, StateScratch& s) {
  const int64_t keys = head.keys(), values = head.values(), rows = head.stride();
  float* gradient = args.dstate.as<float>() + head.number() * keys * values;
  load_state(args.accumulate ? gradient : nullptr, keys, values, columns, s.gradient.data());
  for (int64_t first = 0; first < head.tokens(); first += kBlockTokens) {
    const Range tokens{first, std::min(kBlockTokens, head.tokens() - first)};
    load_queries(head, tokens, s.queries.data());
    load_block(head, args.doutput, tokens, columns, s.arrived.data());
    tile_gemm({.rows = rows,
               .columns = columns.stride(),
               .depth = tokens.count,
               .a = TileOperand{s.queries.data(), rows, 1}.transposed(),
               .b = s.arrived.data(),
               .b_stride = columns.stride(),
               .c = s.gradient.data(),
               .c_stride = columns.stride(),
               .accumulate = true});
  }
  store_state(s.gradient.data(), keys, values, columns, gradient);
}

template <typename A>
void pass_to_state(const Queue& queue, const StateReadBackward& args) {
  const StateScanInputs in = read_inputs(args.q, args.doutput);
  const Shape& q = args.q.shape;
  const int64_t values = args.doutput.shape[3];
  const int threads = threads_for(queue, q.elements() * values);
  const int64_t width = columns_of_a_piece(q[0] * q[2], values, threads);
#pragma omp parallel num_threads(threads)
  {
    StateScratch scratch;
#pragma omp for collapse(3) schedule(static)
    for (int64_t b = 0; b < q[0]; ++b) {
      for (int64_t n = 0; n < q[2]; ++n) {
        for (int64_t first = 0; first < values; first += width)
          pass_to_columns(args, StateHead<A>(in, b, n), {first, std::min(width, values - first)}, scratch);
      }
    }
  }
}

}  // namespace

void state_read_forward(Queue& queue, const StateReadForward& args) {
  with_activations(args.q.dtype, [&]<typename A>() { read_state<A>(queue, args); });
}

void state_read_backward(Queue& queue, const StateReadBackward& args) {
  with_activations(args.q.dtype, [&]<typename A>() {
    if (!args.dq.empty()) pass_to_queries<A>(queue, args);
    if (!args.dstate.empty()) pass_to_state<A>(queue, args);
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
