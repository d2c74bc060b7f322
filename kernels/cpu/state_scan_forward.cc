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
};

// Some tokens of a head.
template <typename A>
struct HeadTokens {
  StateHead<A> head;
  Range tokens;
};

// The tokens of part `part`, from where the state was kept before it to where it is kept after; then come those of
// `following`.
template <typename A>
void scan_part(const StateScanForward& args, const StateHead<A>& head, StateColumns columns, int64_t part,
               const HeadTokens<A>& following, ForwardScratch& s) {
  const int64_t keys = head.keys(), values = head.values(), rows = head.stride(), stride = columns.stride();
  const int64_t elements = keys * values;
  const Range tokens = part_of(part, head.tokens());
  float* state = args.final.as<float>() + head.number() * elements;
  const float* before = state;
  if (part == 0)
    before = args.inputs.initial.empty() ? nullptr : args.inputs.initial.as<float>() + head.number() * elements;
  load_state(before, keys, values, columns, s.state.data());
  if (!args.kept.empty()) {
    float* kept = args.kept.as<float>() + head.number() * kept_states(head.tokens(), DeviceKind::kCpu) * elements;
    store_state(s.state.data(), keys, values, columns, kept + part * elements);
  }
  for (int64_t i = 0; i < chunks_of(tokens); ++i) {
    const auto& [next_head, next] =
        i + 1 < chunks_of(tokens) ? HeadTokens<A>{head, chunk_of(tokens, i + 1)} : following;
    s.keys.load(head, chunk_of(tokens, i));
    load_values(head, args.inputs.v, s.keys.tokens, columns, s.values.written.data());
    head.prefetch_values(args.output, s.keys.tokens, columns);
    s.values.read_queries(s.keys, s.state.data(), rows, stride);
    next_head.prefetch_queries(next);
    if (head.erases()) s.values.read_keys(s.keys, s.state.data(), rows, stride);
    s.values.write(s.keys, head.erases(), stride);
    next_head.prefetch_keys(next);
    s.values.read_written(s.keys, stride);
    next_head.prefetch_values(args.inputs.v, next, columns);
    next_head.prefetch_decays(next);
    store_values(head, s.values.read.data(), s.keys.tokens, columns, args.output);
    s.values.advance(s.keys, s.state.data(), rows, stride);
  }
  store_state(s.state.data(), keys, values, columns, state);
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
          for (int64_t part = 0; part < kept_states(q[1], DeviceKind::kCpu); ++part) {
            const int64_t end = std::min(first_head + together, q[2]);
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
