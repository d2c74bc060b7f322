// Fused relative attention, forward: tile by tile, with a softmax that is corrected as larger scores appear
// (Milakov & Gimelshein 2018; Dao et al. 2022).
#include <cmath>
#include <limits>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/relative_attention.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {

namespace {

// One thread's scratch, on its stack.
struct ForwardBuffers {
  ScoreBuffers tile;
  alignas(64) ScoreBuffers::RowTile values;
  alignas(64) ScoreBuffers::RowTile outputs;     // sum of exp(s - max) v so far
  alignas(64) std::array<float, kMaxTile> max;   // largest score so far
  alignas(64) std::array<float, kMaxTile> sum;   // sum of exp(s - max) so far
  alignas(64) std::array<float, kMaxTile> fade;  // what a new maximum leaves of the sums: exp(old max - max)
  alignas(64) std::array<float, kMaxTile> multipliers;
};
static_assert(sizeof(ForwardBuffers) <= kMaxScratchBytes);

// The finite start keeps exp(max - max) a number for a row that sees nothing of its first tiles.
void begin_rows(const AttentionShape& shape, Range queries, ForwardBuffers& buffers) {
  buffers.max.fill(std::numeric_limits<float>::lowest());
  buffers.sum.fill(0.0F);
  std::fill_n(buffers.outputs.data(), padded(queries.count) * shape.row_stride, 0.0F);
}

void raise_maxima(const AttentionShape& shape, const Tile& tile, ForwardBuffers& buffers) {
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    const float* scores = buffers.tile.scores.data() + row * shape.tile;
    const auto r = static_cast<size_t>(row);
    float max = buffers.max[r];
#pragma omp simd reduction(max : max)
    for (int64_t key = 0; key < padded(tile.keys.count); ++key) max = std::max(max, scores[key]);
    buffers.fade[r] = buffers.max[r] - max;
    buffers.max[r] = max;
  }
#pragma omp simd
  for (int64_t row = 0; row < tile.queries.count; ++row) buffers.fade[row] = exp_float(buffers.fade[row]);
}

// Scores become exp(s - max); the sums follow.
void exponentiate(const AttentionShape& shape, const Tile& tile, ForwardBuffers& buffers) {
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    float* scores = buffers.tile.scores.data() + row * shape.tile;
    const auto r = static_cast<size_t>(row);
    const float max = buffers.max[r];
    const float fade = buffers.fade[r];
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (int64_t key = 0; key < padded(tile.keys.count); ++key) {
      scores[key] = exp_float(scores[key] - max);
      sum += scores[key];
    }
    buffers.sum[r] = buffers.sum[r] * fade + sum;
    float* outputs = buffers.outputs.data() + row * shape.row_stride;
#pragma omp simd
    for (int64_t h = 0; h < shape.row_stride; ++h) outputs[h] *= fade;
  }
}

void drop_out(const AttentionShape& shape, const Tile& tile, const Dropout& dropout, uint64_t first_element,
              ForwardBuffers& buffers) {
  if (dropout.p == 0.0F) return;
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    const int64_t element = (tile.queries.first + row) * shape.keys() + tile.keys.first;
    dropout_multipliers(dropout, first_element + static_cast<uint64_t>(element), tile.keys.count,
                        buffers.multipliers.data());
    float* scores = buffers.tile.scores.data() + row * shape.tile;
    for (int64_t key = 0; key < tile.keys.count; ++key) scores[key] *= buffers.multipliers[static_cast<size_t>(key)];
  }
}

void add_values(const AttentionShape& shape, const HeadInputs& head, const Tile& tile, ForwardBuffers& buffers) {
  load_rows(shape, tile.keys.count, head.rows.values.from(tile.keys.first), buffers.values.data());
  tile_gemm({.rows = tile.queries.count,
             .columns = shape.row_stride,
             .depth = tile.keys.count,
             .a = {buffers.tile.scores.data(), shape.tile},
             .b = buffers.values.data(),
             .b_stride = shape.row_stride,
             .c = buffers.outputs.data(),
             .c_stride = shape.row_stride,
             .accumulate = true});
}

// Where one head's results go, and where its multipliers are drawn.
struct HeadOutputs {
  Rows<float> output;
  float* lse;
  uint64_t first_element;
};

HeadOutputs head_outputs(const AttentionShape& shape, const RelativeAttentionForward& args, int64_t stream,
                         int64_t head) {
  const int64_t model_width = shape.heads * shape.width;
  const int64_t pair = stream * shape.heads + head;
  return {.output = {args.output.as<float>() + stream * shape.queries * model_width + head * shape.width, model_width},
          .lse = args.lse.as<float>() + pair * shape.queries,
          .first_element = static_cast<uint64_t>(pair * shape.queries * shape.keys())};
}

void finish_rows(const AttentionShape& shape, Range queries, const HeadOutputs& outputs,
                 const ForwardBuffers& buffers) {
  for (int64_t row = 0; row < queries.count; ++row) {
    const auto r = static_cast<size_t>(row);
    const float* from = buffers.outputs.data() + row * shape.row_stride;
    float* to = outputs.output(queries.first + row);
    for (int64_t h = 0; h < shape.width; ++h) to[h] = from[h] / buffers.sum[r];
    outputs.lse[queries.first + row] = buffers.max[r] + std::log(buffers.sum[r]);
  }
}

void attend(const AttentionShape& shape, const HeadInputs& inputs, const HeadOutputs& outputs, const Dropout& dropout,
            Range queries, ForwardBuffers& buffers) {
  begin_rows(shape, queries, buffers);
  begin_scores(shape, inputs, queries, buffers.tile);
  visit_tiles(shape, queries, [&](const Tile& tile) {
    score_tile(shape, inputs, tile, buffers.tile);
    raise_maxima(shape, tile, buffers);
    exponentiate(shape, tile, buffers);
    drop_out(shape, tile, dropout, outputs.first_element, buffers);
    add_values(shape, inputs, tile, buffers);
  });
  finish_rows(shape, queries, outputs, buffers);
}

}  // namespace

void relative_attention_forward(const Stream& stream, const RelativeAttentionForward& args) {
  const AttentionShape shape(args.qkv, args.memory_kv, args.r, args.window);
  const int64_t pairs = shape.streams * shape.heads;
#pragma omp parallel num_threads(stream.threads())
  {
    ForwardBuffers buffers;
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t pair = 0; pair < pairs; ++pair) {
      for (int64_t first = 0; first < shape.queries; first += shape.tile) {
        const int64_t b = pair / shape.heads;
        const int64_t n = pair % shape.heads;
        attend(shape, head_inputs(shape, args, b, n), head_outputs(shape, args, b, n), args.dropout,
               {first, std::min(shape.tile, shape.queries - first)}, buffers);
      }
    }
  }
}

}  // namespace segue::kernels::cpu
