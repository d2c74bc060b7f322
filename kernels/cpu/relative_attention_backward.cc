// Fused relative attention, backward: scores are computed again from what the forward saved, tile by tile.
//
// A tile costs eight products: two for its scores, one for dp, and one each for dv, dk, dq by keys, dq by positions and
// dr. The gradient of a band is gathered as the band is read: two tiles add to each block, which is multiplied once,
// when it is complete.
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/relative_attention.h"

namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL {

namespace {

// One thread's scratch, on its stack.
struct BackwardBuffers {
  ScoreBuffers tile;
  alignas(64) ScoreBuffers::RowTile doutput;
  alignas(64) ScoreBuffers::RowTile rows;       // values on their way in, a product on its way out
  alignas(64) ScoreBuffers::RowTile dcontent;   // ds · k, the part of dq that reaches u
  alignas(64) ScoreBuffers::RowTile dposition;  // ds · r, the part that reaches w
  alignas(64) std::array<float, kMaxTile * kMaxTile> dscores;
  alignas(64) std::array<float, 2 * kMaxTile * kMaxTile> dband;
  alignas(64) std::array<float, kMaxTile> delta;
  alignas(64) std::array<float, kMaxTile> multipliers;
};
static_assert(sizeof(BackwardBuffers) <= kMaxScratchBytes);

// The part of the workspace that belongs to one stream and head: sums over its queries, row after row.
struct GradientSums {
  Rows<float> keys;       // dk [K, H]
  Rows<float> values;     // dv [K, H]
  Rows<float> positions;  // dr [P, H], then du and dw

  GradientSums(const AttentionShape& shape, TensorView workspace, int64_t stream, int64_t head) {
    const int64_t first = (stream * shape.heads + head) * rows(shape.keys(), shape.positions);
    keys = {workspace.as<float>() + first * shape.row_stride, shape.row_stride};
    values = {keys(shape.keys()), keys.stride};
    positions = {values(shape.keys()), keys.stride};
  }
  static int64_t rows(int64_t keys, int64_t positions) { return 2 * keys + positions + 2; }
  float* content_bias(const AttentionShape& shape) const { return positions(shape.positions); }
  float* position_bias(const AttentionShape& shape) const { return positions(shape.positions + 1); }
};

// What one stream and head reads besides its inputs, and what it writes.
template <typename A>
struct HeadGradients {
  Rows<const A> doutput;
  Rows<const A> output;
  const float* lse;
  uint64_t first_element;  // of dropatt
  HeadRows<A> rows;        // dq, dk, dv
  GradientSums sums;
};

template <typename A>
HeadGradients<A> head_gradients(const AttentionShape& shape, const RelativeAttentionBackward& args, int64_t stream,
                                int64_t head) {
  const int64_t model_width = shape.heads * shape.width;
  const int64_t offset = stream * shape.queries * model_width + head * shape.width;
  const int64_t pair = stream * shape.heads + head;
  return {
      .doutput = {args.doutput.as<A>() + offset, model_width},
      .output = {args.output.as<A>() + offset, model_width},
      .lse = args.lse.as<float>() + pair * shape.queries,
      .first_element = static_cast<uint64_t>(pair * shape.queries * shape.keys()),
      .rows = {shape, args.dqkv.as<A>(), args.dmemory_kv.as<A>(), shape.memory, stream, head},
      .sums = {shape, args.workspace, stream, head},
  };
}

template <typename A>
void begin_queries(const AttentionShape& shape, const HeadGradients<A>& gradients, Range queries,
                   BackwardBuffers& buffers) {
  load_rows(shape, queries.count, gradients.doutput.from(queries.first), buffers.doutput.data());
  for (int64_t row = 0; row < queries.count; ++row) {
    const A* doutput = gradients.doutput(queries.first + row);
    const A* output = gradients.output(queries.first + row);
    float delta = 0.0F;
#pragma omp simd reduction(+ : delta)
    for (int64_t h = 0; h < shape.width; ++h) delta += load(doutput + h) * load(output + h);
    buffers.delta[row] = delta;
  }
  std::fill_n(buffers.dcontent.data(), padded(queries.count) * shape.row_stride, 0.0F);
  std::fill_n(buffers.dposition.data(), padded(queries.count) * shape.row_stride, 0.0F);
  std::fill_n(buffers.dband.data(), queries.count * 2 * shape.tile, 0.0F);
}

// do · v of every pair of the tile.
template <typename A>
void compute_dprobabilities(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile,
                            BackwardBuffers& buffers) {
  load_rows(shape, tile.keys.count, head.rows.values.from(tile.keys.first), buffers.rows.data());
  transpose_rows(shape, tile.keys.count, buffers.rows.data(), buffers.tile.columns.data());
  tile_gemm({.rows = tile.queries.count,
             .columns = padded(tile.keys.count),
             .depth = shape.width,
             .a = {buffers.doutput.data(), shape.row_stride},
             .b = buffers.tile.columns.data(),
             .b_stride = shape.tile,
             .c = buffers.dscores.data(),
             .c_stride = shape.tile});
}

// Scores become m * p, and do · v becomes ds.
template <typename A>
void compute_dscores(const AttentionShape& shape, const HeadGradients<A>& gradients, const Tile& tile,
                     const Dropout& dropout, BackwardBuffers& buffers) {
  const int64_t columns = padded(tile.keys.count);
  const float* multipliers = buffers.multipliers.data();
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    const int64_t query = tile.queries.first + row;
    const auto element = static_cast<uint64_t>(query * shape.keys() + tile.keys.first);
    dropout_multipliers(dropout, gradients.first_element + element, columns, buffers.multipliers.data());
    float* scores = buffers.tile.scores.data() + row * shape.tile;
    float* dscores = buffers.dscores.data() + row * shape.tile;
    const float lse = gradients.lse[query];
    const float delta = buffers.delta[row];
#pragma omp simd
    for (int64_t key = 0; key < columns; ++key) {
      const float p = attention_weight(scores[key] - lse);
      scores[key] = p * multipliers[key];
      dscores[key] = p * (dscores[key] * multipliers[key] - delta);
    }
  }
}

// The first `count` rows of buffers.rows, added to those that row_at names; a null row is left out.
template <typename RowAt>
void add_rows(const AttentionShape& shape, int64_t count, const BackwardBuffers& buffers, RowAt row_at) {
  for (int64_t row = 0; row < count; ++row) {
    const float* from = buffers.rows.data() + row * shape.row_stride;
    float* to = row_at(row);
    if (to == nullptr) continue;
#pragma omp simd
    for (int64_t h = 0; h < shape.width; ++h) to[h] += from[h];
  }
}

// buffers.rows = pairsᵀ · queries: what the queries of a tile send to its keys, or to the distances of a block.
void gather_from_queries(const AttentionShape& shape, int64_t queries, int64_t targets, TileOperand pairs,
                         const ScoreBuffers::RowTile& rows, BackwardBuffers& buffers) {
  tile_gemm({.rows = targets,
             .columns = shape.row_stride,
             .depth = queries,
             .a = pairs.transposed(),
             .b = rows.data(),
             .b_stride = shape.row_stride,
             .c = buffers.rows.data(),
             .c_stride = shape.row_stride});
}

// sums += pairs · rows: what keys or distances send back to the queries.
void add_to_queries(const AttentionShape& shape, int64_t queries, int64_t sources, TileOperand pairs,
                    const ScoreBuffers::RowTile& rows, ScoreBuffers::RowTile& sums) {
  tile_gemm({.rows = queries,
             .columns = shape.row_stride,
             .depth = sources,
             .a = pairs,
             .b = rows.data(),
             .b_stride = shape.row_stride,
             .c = sums.data(),
             .c_stride = shape.row_stride,
             .accumulate = true});
}

void add_key_gradients(const AttentionShape& shape, const GradientSums& sums, const Tile& tile,
                       BackwardBuffers& buffers) {
  const int64_t queries = tile.queries.count;
  const int64_t keys = tile.keys.count;
  const TileOperand p{buffers.tile.scores.data(), shape.tile};
  const TileOperand ds{buffers.dscores.data(), shape.tile};
  gather_from_queries(shape, queries, keys, p, buffers.doutput, buffers);
  add_rows(shape, keys, buffers, sums.values.from(tile.keys.first));
  gather_from_queries(shape, queries, keys, ds, buffers.tile.content_queries, buffers);
  add_rows(shape, keys, buffers, sums.keys.from(tile.keys.first));
  add_to_queries(shape, queries, keys, ds, buffers.tile.keys, buffers.dcontent);
}

// The complete left block of dband, whose first column is `farthest` away, to dr and dq.
void add_position_gradients(const AttentionShape& shape, const GradientSums& sums, int64_t queries, int64_t farthest,
                            const ScoreBuffers::RowTile& positions, BackwardBuffers& buffers) {
  const TileOperand block{buffers.dband.data(), 2 * shape.tile};
  add_to_queries(shape, queries, shape.tile, block, positions, buffers.dposition);
  gather_from_queries(shape, queries, shape.tile, block, buffers.tile.position_queries, buffers);
  add_rows(shape, shape.tile, buffers, [&](int64_t column) -> float* {
    const int64_t distance = farthest - column;
    if (distance < 0 || distance >= shape.keys()) return nullptr;
    return sums.positions(std::min(distance, shape.positions - 1));
  });
}

// Puts ds on the diagonals of dband, where the scores had their positions from.
void add_to_dband(const AttentionShape& shape, const Tile& tile, BackwardBuffers& buffers) {
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    const float* from = buffers.dscores.data() + row * shape.tile;
    float* to = buffers.dband.data() + row * 2 * shape.tile + shape.tile - 1 - row;
    for (int64_t key = 0; key < padded(tile.keys.count); key += kLanes)
      store_vector(to + key, load_vector(to + key) + load_vector(from + key));
  }
}

void advance_dband(const AttentionShape& shape, int64_t queries, BackwardBuffers& buffers) {
  for (int64_t row = 0; row < queries; ++row) {
    float* left = buffers.dband.data() + row * 2 * shape.tile;
    float* right = left + shape.tile;
    copy_vectors(right, shape.tile, left);
    clear_vectors(right, shape.tile);
  }
}

template <typename A>
void finish_queries(const AttentionShape& shape, const HeadGradients<A>& gradients, Range queries,
                    const BackwardBuffers& buffers) {
  float* content_bias = gradients.sums.content_bias(shape);
  float* position_bias = gradients.sums.position_bias(shape);
  for (int64_t row = 0; row < queries.count; ++row) {
    const float* dcontent = buffers.dcontent.data() + row * shape.row_stride;
    const float* dposition = buffers.dposition.data() + row * shape.row_stride;
    A* dq = gradients.rows.queries(queries.first + row);
    for (int64_t h = 0; h < shape.width; ++h) {
      store(dq + h, shape.scale * (dcontent[h] + dposition[h]));
      content_bias[h] += shape.scale * dcontent[h];
      position_bias[h] += shape.scale * dposition[h];
    }
  }
}

template <typename A>
void attend_backward(const AttentionShape& shape, const HeadInputs<A>& head, const HeadGradients<A>& gradients,
                     const Dropout& dropout, Range queries, BackwardBuffers& buffers) {
  int64_t farthest = farthest_distance(shape, queries.first, seen_keys(shape, queries).first);
  begin_queries(shape, gradients, queries, buffers);
  begin_scores(shape, head, queries, buffers.tile);
  visit_tiles(shape, queries, [&](const Tile& tile) {
    score_tile(shape, head, tile, buffers.tile);
    compute_dprobabilities(shape, head, tile, buffers);
    compute_dscores(shape, gradients, tile, dropout, buffers);
    add_key_gradients(shape, gradients.sums, tile, buffers);
    add_to_dband(shape, tile, buffers);
    add_position_gradients(shape, gradients.sums, queries.count, farthest, buffers.tile.left_positions(), buffers);
    advance_dband(shape, queries.count, buffers);
    farthest -= shape.tile;
  });
  if (farthest >= 0)
    add_position_gradients(shape, gradients.sums, queries.count, farthest, buffers.tile.right_positions(), buffers);
  finish_queries(shape, gradients, queries, buffers);
}

// Rounds the complete sums of keys or values.
template <typename A>
void finish_keys(const AttentionShape& shape, const Rows<float>& sums, const KeyRows<A>& rows) {
  for (int64_t key = 0; key < shape.keys(); ++key) {
    const float* from = sums(key);
    A* to = rows(key);
#pragma omp simd
    for (int64_t h = 0; h < shape.width; ++h) store(to + h, from[h]);
  }
}

template <typename A>
void attend_backward(const AttentionShape& shape, const RelativeAttentionBackward& args, int64_t stream, int64_t head,
                     BackwardBuffers& buffers) {
  const auto inputs = head_inputs<A>(shape, args.inputs, stream, head);
  const auto gradients = head_gradients<A>(shape, args, stream, head);
  clear_vectors(gradients.sums.keys.data, GradientSums::rows(shape.keys(), shape.positions) * shape.row_stride);
  for (int64_t first = 0; first < shape.queries; first += shape.tile) {
    const Range queries{first, std::min(shape.tile, shape.queries - first)};
    attend_backward(shape, inputs, gradients, args.inputs.dropout, queries, buffers);
  }
  finish_keys(shape, gradients.sums.keys, gradients.rows.keys);
  finish_keys(shape, gradients.sums.values, gradients.rows.values);
}

// Row `row` of every stream's sums over positions of a head, in the order of the streams whatever the number of
// threads.
template <typename A>
void sum_over_streams(const AttentionShape& shape, const RelativeAttentionBackward& args, int64_t head, int64_t row) {
  std::array<float, kMaxHeadWidth> sums{};
  for (int64_t stream = 0; stream < shape.streams; ++stream) {
    const float* from = GradientSums(shape, args.workspace, stream, head).positions(row);
    for (int64_t h = 0; h < shape.width; ++h) sums[h] += from[h];
  }
  const int64_t offset = head * shape.width;
  if (row < shape.positions) {
    A* dr = args.dr.as<A>() + row * shape.heads * shape.width + offset;
    for (int64_t h = 0; h < shape.width; ++h) store(dr + h, sums[h]);
  } else {
    float* bias = (row == shape.positions ? args.du : args.dw).as<float>() + offset;
    for (int64_t h = 0; h < shape.width; ++h) bias[h] += sums[h];
  }
}

template <typename A>
void attend_backward(const Stream& stream, const RelativeAttentionBackward& args) {
  const AttentionShape shape(args.inputs);
#pragma omp parallel num_threads(threads_for(stream, shape.scores()))
  {
    BackwardBuffers buffers;
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t b = 0; b < shape.streams; ++b) {
      for (int64_t n = 0; n < shape.heads; ++n) attend_backward<A>(shape, args, b, n, buffers);
    }
#pragma omp for collapse(2)
    for (int64_t n = 0; n < shape.heads; ++n) {
      for (int64_t row = 0; row < shape.positions + 2; ++row) sum_over_streams<A>(shape, args, n, row);
    }
  }
}

}  // namespace

void relative_attention_backward(const Stream& stream, const RelativeAttentionBackward& args) {
  with_activations(args.inputs.qkv.dtype, [&]<typename A>() { attend_backward<A>(stream, args); });
}

int64_t relative_attention_workspace(const RelativeAttentionExtents& extents) {
  return extents.streams * extents.heads * GradientSums::rows(extents.keys, extents.positions) * padded(extents.d_head);
}

}  // namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL
