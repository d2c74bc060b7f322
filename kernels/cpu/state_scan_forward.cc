// Chunk after chunk, for a few columns of a head's state that stay in the cache.
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/state_chunk.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

struct alignas(64) ForwardScratch {
  StateTile state;
  ChunkKeys keys;
  ChunkValues values;
  Prefetches prefetches;
};

// Some tokens of a head.
template <typename A>
struct HeadTokens {
  StateHead<A> head;
  Range tokens;
};

// Where a head's state before part `part` lies: in `kept`, or in `final` where none are kept and after the last part.
template <typename A>
float* state_before(const StateScanForward& args, const StateHead<A>& head, int64_t part) {
  const int64_t parts = kept_states(head.tokens(), DeviceKind::kCpu), elements = head.keys() * head.values();
  if (args.kept.empty() || part == parts) return args.final.as<float>() + head.number() * elements;
  return args.kept.as<float>() + (head.number() * parts + part) * elements;
}

// Before all parts: the initial state.
template <typename A>
void begin(const StateScanForward& args, const StateHead<A>& head, StateColumns columns) {
  const int64_t elements = head.keys() * head.values();
  const float* initial = data_of<float>(args.inputs.initial);
  if (initial != nullptr) initial += head.number() * elements;
  float* state = state_before(args, head, 0);
  if (state == initial) return;
  for (int64_t at = columns.first; at < elements; at += head.values()) {
    if (initial == nullptr) {
      std::fill_n(state + at, columns.count, 0.0F);
    } else {
      std::copy_n(initial + at, columns.count, state + at);
    }
  }
}

// The tokens of part `part`; then come those of `following`.
template <typename A>
void scan_part(const StateScanForward& args, const StateHead<A>& head, StateColumns columns, int64_t part,
               const HeadTokens<A>& following, ForwardScratch& s) {
  const int64_t keys = head.keys(), values = head.values(), rows = head.stride(), stride = columns.stride();
  const Range tokens = part_of(part, head.tokens());
  const float* before = state_before(args, head, part);
  float* after = state_before(args, head, part + 1);
  const bool in_place = can_scan_in_place(keys, values, columns);
  if (!in_place) {
    load_state(before, keys, values, columns, s.state.data());
    before = s.state.data();
  }
  float* state = in_place ? after : s.state.data();
  for (int64_t i = 0; i < chunks_of(tokens); ++i) {
    const auto& [next_head, next] =
        i + 1 < chunks_of(tokens) ? HeadTokens<A>{head, chunk_of(tokens, i + 1)} : following;
    s.keys.load(head, chunk_of(tokens, i));
    load_values(head, args.inputs.v, s.keys.tokens(), columns, s.values.written.data());
    s.prefetches.clear();
    head.prefetch(args.output, s.keys.tokens(), columns, s.prefetches);
    next_head.prefetch_keys(next, s.prefetches);
    next_head.prefetch(args.inputs.v, next, columns, s.prefetches);
    s.values.read_queries(s.keys, before, rows, stride, s.prefetches);
    if (head.erases()) s.values.read_keys(s.keys, before, rows, stride, s.prefetches);
    s.values.write(s.keys, head.erases(), stride);
    s.values.read_written(s.keys, stride, s.prefetches);
    s.values.advance(s.keys, before, state, rows, stride, s.prefetches);
    store_values(head, s.values.read.data(), s.keys.tokens(), columns, args.output);
    before = state;
  }
  if (!in_place) store_state(s.state.data(), keys, values, columns, after);
}

// Heads whose rows lie side by side pass through a part of the tokens one after another before the next part comes:
// the memory that they read then is one piece of some pages, which the first of them brings into the cache.
template <typename A>
void scan(const Queue& queue, const StateScanForward& args) {
  const Shape& q = args.inputs.q.shape;
  const int64_t values = args.inputs.v.shape[3];
  const int threads = threads_for(queue, q.elements() * values);
  const int64_t width = columns_of_a_piece(q[0] * q[2], values, threads);
  const int64_t together = heads_of_a_piece(q[0], q[2], threads);
#pragma omp parallel num_threads(threads)
  {
    ForwardScratch scratch;
#pragma omp for collapse(3) schedule(static)
    for (int64_t b = 0; b < q[0]; ++b) {
      for (int64_t first_head = 0; first_head < q[2]; first_head += together) {
        for (int64_t first = 0; first < values; first += width) {
          const StateColumns columns{first, std::min(width, values - first)};
          const int64_t end = std::min(first_head + together, q[2]);
          for (int64_t n = first_head; n < end; ++n) begin(args, StateHead<A>(args.inputs, b, n), columns);
          for (int64_t part = 0; part < kept_states(q[1], DeviceKind::kCpu); ++part) {
            for (int64_t n = first_head; n < end; ++n) {
              const bool is_last = n + 1 == end;  // the first comes next, with the next part
              const HeadTokens<A> following{StateHead<A>(args.inputs, b, is_last ? first_head : n + 1),
                                            chunk_of(part_of(is_last ? part + 1 : part, q[1]), 0)};
              scan_part(args, StateHead<A>(args.inputs, b, n), columns, part, following, scratch);
            }
          }
        }
      }
    }
  }
}

}  // namespace

void state_scan_forward(Queue& queue, const StateScanForward& args) {
  with_activations(args.inputs.q.dtype, [&]<typename A>() { scan<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
