// Fused relative attention, forward: tile by tile, with a softmax that is corrected as larger scores appear
// (Milakov & Gimelshein 2018; Dao et al. 2022).
#include <cmath>
#include <limits>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// The running sums of a tile's queries.
struct RowSums {
  alignas(64) std::array<float, kMaxTile> max;  // largest score
  std::array<Vector, kMaxTile> sums;            // of exp(s - max), each lane for the keys it met
};

// One thread's scratch, on its stack.
struct ForwardBuffers : ScoreBuffers {
  alignas(64) RowTile values;
  alignas(64) RowTile outputs;  // of a strip: sums of exp(s - max) v so far
  std::array<RowSums, kMaxStripTiles> strip;
  alignas(64) std::array<float, kMaxTile> fade;  // what a new maximum leaves of a tile's sums: exp(old max - max)
  alignas(64) std::array<float, kMaxTile> multipliers;

  RowSums& rows(const Tile& tile) { return strip[static_cast<size_t>(tile.place)]; }
};
static_assert(sizeof(ForwardBuffers) <= kMaxScratchBytes);

// The finite start keeps exp(max - max) a number for a row that sees nothing of its first tiles.
void begin_rows(const AttentionShape& shape, Range strip, ForwardBuffers& buffers) {
  for (RowSums& rows : buffers.strip) {
    rows.max.fill(std::numeric_limits<float>::lowest());
    rows.sums.fill(Vector{});
  }
  std::fill_n(buffers.outputs.data(), padded(strip.count) * shape.row_stride, 0.0F);
}

void raise_maxima(const AttentionShape& shape, const Tile& tile, ForwardBuffers& buffers) {
  RowSums& sums = buffers.rows(tile);
  visit_row_blocks(tile.queries.count, [&](Range rows) {
    const Range keys = seen_columns(shape, tile, rows);
    for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
      const float* scores = buffers.scores(shape, tile)(row) + keys.first;
      Vector largest = Vector{} + sums.max[row];
      for (int64_t key = 0; key < keys.count; key += kLanes) largest = larger(load_vector(scores + key), largest);
      const float max = largest_lane(largest);
      buffers.fade[row] = sums.max[row] - max;
      sums.max[row] = max;
    }
  });
#pragma omp simd
  for (int64_t row = 0; row < tile.queries.count; ++row) buffers.fade[row] = attention_weight(buffers.fade[row]);
}

// Scores become exp(s - max); what was summed under the old maximum fades, and the row's new terms are added.
void exponentiate(const AttentionShape& shape, const Tile& tile, Range rows, ForwardBuffers& buffers) {
  const Range keys = seen_columns(shape, tile, rows);
  RowSums& sums = buffers.rows(tile);
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const float max = sums.max[row];
    const float fade = buffers.fade[row];
    float* scores = buffers.scores(shape, tile)(row) + keys.first;
#pragma omp simd
    for (int64_t key = 0; key < keys.count; ++key) scores[key] = attention_weight(scores[key] - max);
    Vector sum = sums.sums[row] * fade;
    for (int64_t key = 0; key < keys.count; key += kLanes) sum += load_vector(scores + key);
    sums.sums[row] = sum;
    float* outputs = rows_of(shape, tile.place, buffers.outputs) + row * shape.row_stride;
    for (int64_t h = 0; h < shape.row_stride; h += kLanes) store_vector(outputs + h, load_vector(outputs + h) * fade);
  }
}

void drop_out(const AttentionShape& shape, const Tile& tile, Range rows, const Dropout& dropout, uint64_t first_element,
              ForwardBuffers& buffers) {
  if (dropout.p == 0.0F) return;
  const Range keys = seen_columns(shape, tile, rows);
  const float* multipliers = buffers.multipliers.data();
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const int64_t element = (tile.queries.first + row) * shape.keys() + tile.keys.first + keys.first;
    dropout_multipliers(dropout, first_element + static_cast<uint64_t>(element), keys.count,
                        buffers.multipliers.data());
    float* scores = buffers.scores(shape, tile)(row) + keys.first;
#pragma omp simd
    for (int64_t key = 0; key < keys.count; ++key) scores[key] *= multipliers[key];
  }
}

void add_values(const AttentionShape& shape, const Tile& tile, ForwardBuffers& buffers) {
  const Rows<float> scores = buffers.scores(shape, tile);
  const TileGemm product{.columns = shape.row_stride,
                         .a = {scores.data, scores.stride},
                         .b = buffers.values.data(),
                         .b_stride = shape.row_stride,
                         .c = rows_of(shape, tile.place, buffers.outputs),
                         .c_stride = shape.row_stride,
                         .accumulate = true};
  visit_row_blocks(tile.queries.count,
                   [&](Range rows) { tile_gemm(product.for_rows(rows).for_terms(seen_columns(shape, tile, rows))); });
}

// Where one head's results go, and where its multipliers are drawn.
template <typename A>
struct HeadOutputs {
  Rows<A> output;
  float* lse;
  uint64_t first_element;
};

template <typename A>
HeadOutputs<A> head_outputs(const AttentionShape& shape, const RelativeAttentionForward& args, int64_t stream,
                            int64_t head) {
  const int64_t model_width = shape.heads * shape.width;
  const int64_t pair = stream * shape.heads + head;
  return {.output = {args.output.as<A>() + stream * shape.queries * model_width + head * shape.width, model_width},
          .lse = args.lse.as<float>() + pair * shape.queries,
          .first_element = static_cast<uint64_t>(pair * shape.queries * shape.keys())};
}

template <typename A>
void finish_rows(const AttentionShape& shape, int64_t place, Range queries, const HeadOutputs<A>& outputs,
                 const ForwardBuffers& buffers) {
  const RowSums& sums = buffers.strip[static_cast<size_t>(place)];
  for (int64_t row = 0; row < queries.count; ++row) {
    const float* from = rows_of(shape, place, buffers.outputs) + row * shape.row_stride;
    A* to = outputs.output(queries.first + row);
    const float sum = sum_of_lanes(sums.sums[row]);
    for (int64_t h = 0; h < shape.width; ++h) store(to + h, from[h] / sum);
    outputs.lse[queries.first + row] = sums.max[row] + std::log(sum);
  }
}

// Has what comes after these keys on its way: the next ones or, behind the last, where the strip's outputs will be
// written, and the queries of the next strip.
template <typename A>
[[gnu::always_inline]] inline void prefetch_next(const AttentionShape& shape, const HeadInputs<A>& inputs,
                                                 const HeadOutputs<A>& outputs, Range strip, const KeyTile& met) {
  if (met.next < shape.keys()) {
    const int64_t count = std::min(shape.tile, shape.keys() - met.next);
    return prefetch_rows(shape, count, rows_from(inputs.rows.keys, met.next));
  }
  const int64_t next = strip.first + strip.count;
  prefetch_rows(shape, strip.count, rows_from(outputs.output, strip.first));
  prefetch_rows(shape, std::min(strip.count, shape.queries - next), rows_from(inputs.rows.queries, next));
}

template <typename A>
void attend(const AttentionShape& shape, const HeadInputs<A>& inputs, const HeadOutputs<A>& outputs,
            const Dropout& dropout, Range strip, ForwardBuffers& buffers) {
  begin_rows(shape, strip, buffers);
  begin_scores(shape, inputs, strip, buffers);
  visit_keys(shape, inputs.tiles, strip, [&](const KeyTile& met) {
    const Range keys = met.keys;
    if (met.begins) begin_bands(shape, inputs, strip, keys, buffers);
    begin_keys(shape, inputs, strip, keys, buffers);
    load_rows(shape, keys.count, rows_from(inputs.rows.values, keys.first), buffers.values.data());
    prefetch_next(shape, inputs, outputs, strip, met);
    visit_tiles(shape, inputs.tiles, strip, met, [&](const Tile& tile) {
      score_tile(shape, inputs, tile, buffers);
      if (tile.seen == Seen::kNothing) return;
      raise_maxima(shape, tile, buffers);
      visit_row_blocks(tile.queries.count, [&](Range rows) {
        exponentiate(shape, tile, rows, buffers);
        drop_out(shape, tile, rows, dropout, outputs.first_element, buffers);
      });
      add_values(shape, tile, buffers);
    });
  });
  visit_queries(shape, strip,
                [&](int64_t place, Range queries) { finish_rows(shape, place, queries, outputs, buffers); });
}

// The queries that one thread takes at a time: a strip if there are enough of them for all threads, else a tile.
int64_t queries_of_a_part(const AttentionShape& shape, int64_t threads) {
  const int64_t strips = (shape.queries + shape.strip - 1) / shape.strip;
  return shape.streams * shape.heads * strips < 2 * threads ? shape.tile : shape.strip;
}

template <typename A>
void attend(const Queue& queue, const RelativeAttentionForward& args) {
  const AttentionShape shape(args.inputs);
  const int threads = threads_for(queue, shape.scores());
  const int64_t step = queries_of_a_part(shape, threads);
#pragma omp parallel num_threads(threads)
  {
    ForwardBuffers buffers;
#pragma omp for collapse(3) schedule(dynamic)
    for (int64_t b = 0; b < shape.streams; ++b) {
      for (int64_t n = 0; n < shape.heads; ++n) {
        for (int64_t first = 0; first < shape.queries; first += step) {
          attend(shape, head_inputs<A>(shape, args.inputs, b, n), head_outputs<A>(shape, args, b, n),
                 args.inputs.dropout, {first, std::min(step, shape.queries - first)}, buffers);
        }
      }
    }
  }
}

}  // namespace

void relative_attention_forward(Queue& queue, const RelativeAttentionForward& args) {
  with_activations(args.inputs.qkv.dtype, [&]<typename A>() { attend<A>(queue, args); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
