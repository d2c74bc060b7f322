// What rows of the memory receive: the forward's scores of their keys alone, without its values.
#include <algorithm>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// The wanted keys of a stream and head, and what they received so far.
struct Receivers {
  Range keys;
  float* received;  // [R]
};

// Adds the weights that some rows of a tile give to the wanted keys. `scores` are finished.
void add_weights(const AttentionShape& shape, const Tile& tile, Range rows, Rows<float> scores, const float* lse,
                 const Receivers& to) {
  const Range seen = seen_columns(shape, tile, rows);
  const int64_t first = std::max(tile.keys.first + seen.first, to.keys.first);
  const int64_t end =
      std::min(tile.keys.first + std::min(seen.first + seen.count, tile.keys.count), to.keys.first + to.keys.count);
  float* received = to.received + (first - to.keys.first);
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const float* of_row = scores(row) + (first - tile.keys.first);
    const float of_query = lse[tile.queries.first + row];
#pragma omp simd
    for (int64_t key = 0; key < end - first; ++key) received[key] += attention_weight(of_row[key] - of_query);
  }
}

template <typename A>
void receive(const AttentionShape& shape, const HeadInputs<A>& inputs, const float* lse, const Receivers& to,
             Range strip, ScoreBuffers& buffers) {
  begin_scores(shape, inputs, strip, buffers);
  const int64_t first = to.keys.first / shape.tile * shape.tile;
  for (int64_t key = first; key < to.keys.first + to.keys.count; key += shape.tile) {
    const KeyTile met{.keys = {key, std::min(shape.tile, shape.keys() - key)}};
    if (key == first) begin_bands(shape, inputs, strip, met.keys, buffers);
    begin_keys(shape, inputs, strip, met.keys, buffers);
    visit_tiles(shape, inputs.tiles, strip, met, [&](const Tile& tile) {
      score_tile(shape, inputs, tile, buffers);
      if (tile.seen == Seen::kNothing) return;
      visit_row_blocks(tile.queries.count,
                       [&](Range rows) { add_weights(shape, tile, rows, buffers.scores(shape, tile), lse, to); });
    });
  }
}

template <typename A>
void receive(const Queue& queue, const RelativeAttentionReceived& args) {
  const AttentionShape shape(args.inputs);
  const int64_t rows = args.received.shape[2];
  const float* before = args.before.empty() ? nullptr : args.before.as<float>();
#pragma omp parallel num_threads(threads_for(queue, shape.scores()))
  {
    ScoreBuffers buffers;
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t b = 0; b < shape.streams; ++b) {
      for (int64_t n = 0; n < shape.heads; ++n) {
        const int64_t pair = b * shape.heads + n;
        const Receivers to{.keys = {args.first_key, rows}, .received = args.received.as<float>() + pair * rows};
        for (int64_t key = 0; key < rows; ++key)
          to.received[key] = before == nullptr ? 0.0F : before[pair * rows + key];
        for (int64_t first = 0; first < shape.queries; first += shape.strip) {
          receive(shape, head_inputs<A>(shape, args.inputs, b, n), args.lse.as<float>() + pair * shape.queries, to,
                  {first, std::min(shape.strip, shape.queries - first)}, buffers);
        }
      }
    }
  }
}

}  // namespace

void relative_attention_received(Queue& queue, const RelativeAttentionReceived& args) {
  with_activations(args.inputs.qkv.dtype, [&]<typename A>() { receive<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
