// Fused relative attention, backward: scores are recomputed from what the forward saved, tile by tile.
//
// A tile costs eight products: two for its scores, one for dp, and one each for dv, dk, dq by keys, dq by positions and
// dr. The gradient of a band is gathered as the band is read: two tiles add to each block, which is multiplied once,
// when it is complete. Without distance terms five products remain. Gains by distance turn the ds of the tile's scores
// into that of their products before these are multiplied.
#include <atomic>

#include "kernels/cpu/attention_sums.h"
#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/dropout_mask.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

// One thread's scratch, on its stack.
struct BackwardBuffers : ScoreBuffers {
  alignas(64) RowTile doutput;                               // of a strip
  alignas(64) RowTile dcontent;                              // of a strip: ds · k, which reaches u
  alignas(64) RowTile dposition;                             // of a strip: ds · r, which reaches w
  alignas(64) RowTile keys;                                  // rows of k
  alignas(64) std::array<float, 2 * kTileFloats> positions;  // rows of r for the strip's blocks; they take turns
  alignas(64) std::array<BandTile, kMaxStripTiles> dbands;   // ds on their diagonals, zero where no pair was
  alignas(64) std::array<float, kMaxStripTiles * kMaxTile> delta;
  alignas(64) std::array<float, kMaxTile> multipliers;

  BandTile& dband(int64_t place) { return dbands[static_cast<size_t>(place)]; }
  Rows<float> dscores(const AttentionShape& shape, const Tile& tile) {
    return diagonals(shape, dband(tile.place).data());
  }
};
static_assert(sizeof(BackwardBuffers) <= kMaxScratchBytes);

// Whether sums by distance, of biases or gains, are wanted.
bool wants_distances(const RelativeAttentionBackward& args) { return !args.dbias.empty() || !args.dgain.empty(); }

// The gradients of one stream and head: the tensors read besides the inputs, and those written.
template <typename A>
struct HeadGradients {
  Rows<const A> doutput;
  Rows<const A> output;
  const float* lse;
  uint64_t first_element;  // of dropatt
  HeadRows<A> rows;        // dq, dk, dv
  PositionSums sums;
  bool wants_distances;  // whether dbias or dgain is
};

template <typename A>
HeadGradients<A> head_gradients(const AttentionShape& shape, const RelativeAttentionBackward& args,
                                const Workspace& workspace, int64_t stream, int64_t head) {
  const int64_t model_width = shape.heads * shape.width;
  const int64_t offset = stream * shape.queries * model_width + head * shape.width;
  const int64_t pair = stream * shape.heads + head;
  return {
      .doutput = {args.doutput.as<A>() + offset, model_width},
      .output = {args.output.as<A>() + offset, model_width},
      .lse = args.lse.as<float>() + pair * shape.queries,
      .first_element = static_cast<uint64_t>(pair * shape.queries * shape.keys()),
      .rows = {shape, args.dqkv.as<A>(), args.dmemory_kv.as<A>(), shape.memory, stream, head},
      .sums = {shape, workspace.of_pair(pair)},
      .wants_distances = wants_distances(args),
  };
}

// Where the rows of r for the block of distances of this age lie. The band of each tile of queries has two blocks, of
// which its neighbour's has one.
float* rows_of_block(const AttentionShape& shape, int64_t age, BackwardBuffers& buffers) {
  return rows_of(shape, buffers.turn(age, shape.strip / shape.tile + 1), buffers.positions);
}

template <typename A>
void load_block_rows(const AttentionShape& shape, const HeadInputs<A>& head, int64_t farthest, int64_t age,
                     BackwardBuffers& buffers) {
  if (farthest < 0) return;
  load_rows(shape, shape.tile, positions_from(shape, head, farthest), rows_of_block(shape, age, buffers));
}

template <typename A>
void begin_strip(const AttentionShape& shape, const HeadInputs<A>& head, const HeadGradients<A>& gradients, Range strip,
                 BackwardBuffers& buffers) {
  begin_scores(shape, head, strip, buffers);
  load_rows(shape, strip.count, rows_from(gradients.doutput, strip.first), buffers.doutput.data());
  for (int64_t row = 0; row < strip.count; ++row) {
    const A* doutput = gradients.doutput(strip.first + row);
    const A* output = gradients.output(strip.first + row);
    float delta = 0.0F;
#pragma omp simd reduction(+ : delta)
    for (int64_t h = 0; h < shape.width; ++h) delta += load(doutput + h) * load(output + h);
    buffers.delta[row] = delta;
  }
  std::fill_n(buffers.dcontent.data(), padded(strip.count) * shape.row_stride, 0.0F);
  if (!shape.has_distances()) return;
  std::fill_n(buffers.dposition.data(), padded(strip.count) * shape.row_stride, 0.0F);
}

// As begin_bands, with the rows of r and the gradients of the bands.
template <typename A>
void begin_dbands(const AttentionShape& shape, const HeadInputs<A>& head, Range strip, Range keys,
                  BackwardBuffers& buffers) {
  begin_bands(shape, head, strip, keys, buffers);
  if (!shape.has_distances()) return;
  visit_queries(shape, strip, [&](int64_t place, Range queries) {
    std::fill_n(buffers.dband(place).data(), queries.count * 2 * shape.tile, 0.0F);
    load_block_rows(shape, head, farthest_distance(shape, queries.first, keys.first), place, buffers);
  });
}

// As prefetch_rows, of the keys' rows that there are from `first` on.
template <typename A>
[[gnu::always_inline]] inline void prefetch_keys(const AttentionShape& shape, const KeyRows<A>& rows, int64_t first,
                                                 int64_t count) {
  prefetch_rows(shape, std::min(count, shape.keys() - first), rows_from(rows, first));
}

// do · v of every pair of the tile, from the columns of values. Meanwhile, the next keys are on their way, as many as
// there are queries.
template <typename A>
void compute_dprobabilities(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile,
                            BackwardBuffers& buffers) {
  const Rows<float> dscores = buffers.dscores(shape, tile);
  const TileGemm product{.depth = shape.width,
                         .a = {rows_of(shape, tile.place, buffers.doutput), shape.row_stride},
                         .b = buffers.columns.data(),
                         .b_stride = shape.tile,
                         .c = dscores.data,
                         .c_stride = dscores.stride};
  visit_row_blocks(tile.queries.count, [&](Range rows) {
    if (tile.place == 0) prefetch_keys(shape, head.rows.keys, tile.keys.first + shape.tile + rows.first, rows.count);
    tile_gemm(product.for_rows(rows).for_columns(seen_columns(shape, tile, rows)));
  });
}

// Scores become m * p, and do · v becomes ds.
template <typename A>
void compute_dscores(const AttentionShape& shape, const HeadGradients<A>& gradients, const Tile& tile, Range rows,
                     const Dropout& dropout, BackwardBuffers& buffers) {
  const Range keys = seen_columns(shape, tile, rows);
  const float* multipliers = buffers.multipliers.data();
  for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
    const int64_t query = tile.queries.first + row;
    const auto element = static_cast<uint64_t>(query * shape.keys() + tile.keys.first + keys.first);
    dropout_multipliers(dropout, gradients.first_element + element, keys.count, buffers.multipliers.data());
    float* scores = buffers.scores(shape, tile)(row) + keys.first;
    float* dscores = buffers.dscores(shape, tile)(row) + keys.first;
    const float lse = gradients.lse[query];
    const float delta = buffers.delta[static_cast<size_t>(tile.place * shape.tile + row)];
#pragma omp simd
    for (int64_t key = 0; key < keys.count; ++key) {
      const float p = attention_weight(scores[key] - lse);
      scores[key] = p * multipliers[key];
      dscores[key] = p * (dscores[key] * multipliers[key] - delta);
    }
  }
}

// ds becomes that of the scores that gains multiply, and rectified scores become each pair's part of dgain.
void apply_gains(const AttentionShape& shape, const Tile& tile, const float* distance_gain, BackwardBuffers& buffers) {
  const BandColumns band = columns_by_distance(shape, tile, distance_gain);
  visit_row_blocks(tile.queries.count, [&](Range rows) {
    const Range columns = seen_columns(shape, tile, rows);
    for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
      float* dscores = buffers.dscores(shape, tile)(row) + columns.first;
      float* rectified = buffers.rectified(shape, tile)(row) + columns.first;
      const float* gains = run_of(shape, band, row, columns.first);
#pragma omp simd
      for (int64_t column = 0; column < columns.count; ++column) {
        const float ds = dscores[column];
        dscores[column] = rectified[column] > 0.0F ? ds * gains[column] : 0.0F;
        rectified[column] *= ds;
      }
    }
  });
}

// Adds what belongs to the tile's pairs to the sums of their distances.
void add_to_distances(const AttentionShape& shape, const PositionSums& sums, const Tile& tile, Rows<float> pairs) {
  const int64_t farthest = farthest_distance(shape, tile.queries.first, tile.keys.first);
  const int64_t first = shape.keys() - 1 - farthest;  // where column 0 of a band lies among the sums
  visit_row_blocks(tile.queries.count, [&](Range rows) {
    const Range columns = seen_columns(shape, tile, rows);
    for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
      const float* from = pairs(row) + columns.first;
      float* to = sums.by_distance + (first + shape.tile - 1 - row + columns.first);
#pragma omp simd
      for (int64_t column = 0; column < columns.count; ++column) to[column] += from[column];
    }
  });
}

// sums[target] += pairsᵀ · queries: what the queries of a tile send to its keys. Sums may have rows beyond: zeros are
// added to those.
void add_to_keys(const AttentionShape& shape, const Tile& tile, const Rows<float>& pairs, const RowTile& queries,
                 float* sums) {
  const TileGemm product{.columns = shape.row_stride,
                         .a = TileOperand{pairs.data, pairs.stride}.transposed(),
                         .b = rows_of(shape, tile.place, queries),
                         .b_stride = shape.row_stride,
                         .c = sums,
                         .c_stride = shape.row_stride,
                         .accumulate = true};
  for (int64_t key = 0; key < tile.keys.count; key += kLanes) {
    const Range keys{key, std::min(kLanes, tile.keys.count - key)};
    tile_gemm(product.for_rows(keys).for_terms(seeing_rows(shape, tile, keys)));
  }
}

// Adds the content part of the queries' gradients. Meanwhile, where the gradients of both will be written is on its
// way: of the queries' with their last keys, and of the keys', as many as there are queries, in the last strip.
template <typename A>
void add_content_gradients(const AttentionShape& shape, const HeadRows<A>& gradients, const Tile& tile,
                           BackwardBuffers& buffers) {
  const bool ends_keys = tile.place == 0 && tile.queries.first + shape.strip >= shape.queries;
  const Rows<float> dscores = buffers.dscores(shape, tile);
  const TileGemm product{.columns = shape.row_stride,
                         .a = {dscores.data, dscores.stride},
                         .b = buffers.keys.data(),
                         .b_stride = shape.row_stride,
                         .c = rows_of(shape, tile.place, buffers.dcontent),
                         .c_stride = shape.row_stride,
                         .accumulate = true};
  visit_row_blocks(tile.queries.count, [&](Range rows) {
    if (ends_keys) prefetch_keys(shape, gradients.keys, tile.keys.first + rows.first, rows.count);
    if (ends_keys) prefetch_keys(shape, gradients.values, tile.keys.first + rows.first, rows.count);
    if (tile.ends) prefetch_rows(shape, rows.count, rows_from(gradients.queries, tile.queries.first + rows.first));
    tile_gemm(product.for_rows(rows).for_terms(seen_columns(shape, tile, rows)));
  });
}

// The complete left block of a dband, whose first column is `farthest` away, to dq and dr. `age` is that of its rows of
// r.
void add_position_gradients(const AttentionShape& shape, const PositionSums& sums, const Tile& tile, int64_t farthest,
                            int64_t age, BackwardBuffers& buffers) {
  const Range queries = tile.queries;
  const TileOperand block{buffers.dband(tile.place).data(), 2 * shape.tile};
  const TileGemm to_queries{.columns = shape.row_stride,
                            .a = block,
                            .b = rows_of_block(shape, age, buffers),
                            .b_stride = shape.row_stride,
                            .c = rows_of(shape, tile.place, buffers.dposition),
                            .c_stride = shape.row_stride,
                            .accumulate = true};
  visit_row_blocks(queries.count, [&](Range rows) {
    const Range columns = band_columns(shape, {queries.first + rows.first, rows.count}, farthest);
    tile_gemm(to_queries.for_rows(rows).for_terms(columns));
  });
  const TileGemm to_positions{.columns = shape.row_stride,
                              .a = block.transposed(),
                              .b = rows_of(shape, tile.place, buffers.position_queries),
                              .b_stride = shape.row_stride,
                              .c = sums.positions(shape.keys() - 1 - farthest),
                              .c_stride = shape.row_stride,
                              .accumulate = true};
  const Range columns = band_columns(shape, queries, farthest);
  for (int64_t column = columns.first; column < columns.first + columns.count; column += kLanes) {
    const Range rows = rows_at_distances(shape, queries, farthest - column - kLanes + 1);
    tile_gemm(to_positions.for_rows({column, kLanes}).for_terms(rows));
  }
}

void advance_dband(const AttentionShape& shape, const Tile& tile, BackwardBuffers& buffers) {
  for (int64_t row = 0; row < tile.queries.count; ++row) {
    float* left = buffers.dband(tile.place).data() + row * 2 * shape.tile;
    float* right = left + shape.tile;
    copy_vectors(right, shape.tile, left);
    clear_vectors(right, shape.tile);
  }
}

// The left block of the tile's dband is complete, and when the keys behind do not come, the right one too.
void pass_on_positions(const AttentionShape& shape, const PositionSums& sums, const Tile& tile,
                       BackwardBuffers& buffers) {
  const int64_t farthest = farthest_distance(shape, tile.queries.first, tile.keys.first);
  add_position_gradients(shape, sums, tile, farthest, tile.place + 1, buffers);
  advance_dband(shape, tile, buffers);
  const int64_t right = farthest - shape.tile;
  if (right < 0 || !tile.ends) return;
  add_position_gradients(shape, sums, tile, right, tile.place, buffers);
}

template <typename A>
void finish_strip(const AttentionShape& shape, const HeadGradients<A>& gradients, Range strip,
                  const BackwardBuffers& buffers) {
  float* content_bias = gradients.sums.content_bias;
  float* position_bias = gradients.sums.position_bias;
  for (int64_t row = 0; row < strip.count; ++row) {
    const float* dcontent = buffers.dcontent.data() + row * shape.row_stride;
    A* dq = gradients.rows.queries(strip.first + row);
#pragma omp simd
    for (int64_t h = 0; h < shape.width; ++h) content_bias[h] += shape.scale * dcontent[h];
    if (!shape.has_distances()) {
#pragma omp simd
      for (int64_t h = 0; h < shape.width; ++h) store(dq + h, shape.scale * dcontent[h]);
      continue;
    }
    const float* dposition = buffers.dposition.data() + row * shape.row_stride;
#pragma omp simd
    for (int64_t h = 0; h < shape.width; ++h) {
      store(dq + h, shape.scale * (dcontent[h] + dposition[h]));
      position_bias[h] += shape.scale * dposition[h];
    }
  }
}

template <typename A>
void attend_backward(const AttentionShape& shape, const HeadInputs<A>& head, const HeadGradients<A>& gradients,
                     const KeySums& key_sums, const Dropout& dropout, Range strip, BackwardBuffers& buffers) {
  begin_strip(shape, head, gradients, strip, buffers);
  visit_keys(shape, head.tiles, strip, [&](const KeyTile& met) {
    const Range keys = met.keys;
    if (met.begins) begin_dbands(shape, head, strip, keys, buffers);
    begin_keys(shape, head, strip, keys, buffers);
    if (shape.has_distances())
      load_block_rows(shape, head, farthest_distance(shape, strip.first, keys.first) - shape.tile, 0, buffers);
    visit_tiles(shape, head.tiles, strip, met, [&](const Tile& tile) { score_tile(shape, head, tile, buffers); });
    load_rows(shape, keys.count, rows_from(head.rows.keys, keys.first), buffers.keys.data());
    load_columns(shape, keys.count, rows_from(head.rows.values, keys.first), buffers.columns.data());
    visit_tiles(shape, head.tiles, strip, met, [&](const Tile& tile) {
      if (tile.seen == Seen::kNothing) {
        if (shape.has_distances()) pass_on_positions(shape, gradients.sums, tile, buffers);
        return;
      }
      compute_dprobabilities(shape, head, tile, buffers);
      visit_row_blocks(tile.queries.count,
                       [&](Range rows) { compute_dscores(shape, gradients, tile, rows, dropout, buffers); });
      const bool has_gain = head.distance_gain != nullptr;
      if (has_gain) apply_gains(shape, tile, head.distance_gain, buffers);
      add_to_keys(shape, tile, buffers.scores(shape, tile), buffers.doutput, key_sums.values(keys.first));
      add_to_keys(shape, tile, buffers.dscores(shape, tile), buffers.content_queries, key_sums.keys(keys.first));
      add_content_gradients(shape, gradients.rows, tile, buffers);
      if (shape.has_distances()) pass_on_positions(shape, gradients.sums, tile, buffers);
      const Rows<float> by_distance = has_gain ? buffers.rectified(shape, tile) : buffers.dscores(shape, tile);
      if (gradients.wants_distances) add_to_distances(shape, gradients.sums, tile, by_distance);
    });
  });
  finish_strip(shape, gradients, strip, buffers);
}

// The sums of a head's keys and values, which are zeroed shortly before the first strip adds to them and rounded
// shortly after the last one has: where strips see a window of the keys, the sums stay in the cache meanwhile.
template <typename A>
class KeysInSight {
 public:
  KeysInSight(const AttentionShape& shape, const HeadTiles& tiles, const KeySums& sums, const HeadRows<A>& gradients)
      : shape_(shape), tiles_(tiles), sums_(sums), gradients_(gradients) {}

  // Before a strip: zeros for those that no strip before it sees.
  void begin(Range strip) {
    const int64_t end = end_of_sight(shape_, tiles_.sight, strip.first + strip.count - 1);
    for (const Rows<float>& rows : {sums_.keys, sums_.values})
      clear_vectors(rows(begun_), (end - begun_) * shape_.row_stride);
    begun_ = end;
  }

  // After it: those that no later strip meets are complete.
  void finish(Range strip) {
    int64_t end = begun_;
    for (int64_t first = strip.first + strip.count; first < shape_.queries && end > finished_; first += shape_.strip)
      end = std::min(end, first_met(shape_, tiles_, {first, std::min(shape_.strip, shape_.queries - first)}));
    round(sums_.keys, gradients_.keys, end);
    round(sums_.values, gradients_.values, end);
    finished_ = std::max(finished_, end);
  }

 private:
  void round(const Rows<float>& sums, const KeyRows<A>& rows, int64_t end) const {
    for (int64_t key = finished_; key < end; ++key) {
      const float* from = sums(key);
      A* to = rows(key);
#pragma omp simd
      for (int64_t h = 0; h < shape_.width; ++h) store(to + h, from[h]);
    }
  }

  const AttentionShape& shape_;
  const HeadTiles& tiles_;
  const KeySums& sums_;
  const HeadRows<A>& gradients_;
  int64_t begun_ = 0, finished_ = 0;  // keys before these
};

template <typename A>
void attend_backward(const AttentionShape& shape, const RelativeAttentionBackward& args, const Workspace& workspace,
                     int64_t thread, int64_t stream, int64_t head, BackwardBuffers& buffers) {
  const auto inputs = head_inputs<A>(shape, args.inputs, stream, head);
  const auto gradients = head_gradients<A>(shape, args, workspace, stream, head);
  const KeySums key_sums(shape, workspace.of_thread(thread));
  clear_vectors(workspace.of_pair(stream * shape.heads + head), workspace.position_size);
  KeysInSight<A> keys(shape, inputs.tiles, key_sums, gradients.rows);
  for (int64_t first = 0; first < shape.queries; first += shape.strip) {
    const Range strip{first, std::min(shape.strip, shape.queries - first)};
    keys.begin(strip);
    attend_backward(shape, inputs, gradients, key_sums, args.inputs.dropout, strip, buffers);
    keys.finish(strip);
  }
}

// The sum of rows row_of(sums) of every stream of a head, in the order of the streams whatever the number of threads.
template <typename RowOf>
void add_streams(const AttentionShape& shape, const Workspace& workspace, int64_t head, RowOf row_of, float* to) {
  for (int64_t stream = 0; stream < shape.streams; ++stream) {
    const float* from = row_of(PositionSums(shape, workspace.of_pair(stream * shape.heads + head)));
    for (int64_t h = 0; h < shape.width; ++h) to[h] += from[h];
  }
}

// dr of one position: that of a distance, or the last one's, of that distance and all beyond.
template <typename A>
void finish_position(const AttentionShape& shape, const Workspace& workspace, TensorView dr, int64_t head,
                     int64_t position) {
  std::array<float, kMaxHeadWidth> sums{};
  const int64_t end = position == shape.positions - 1 ? shape.keys() : position + 1;
  for (int64_t distance = position; distance < end; ++distance) {
    const auto row_of = [&](const PositionSums& of) { return of.positions(shape.keys() - 1 - distance); };
    add_streams(shape, workspace, head, row_of, sums.data());
  }
  A* to = dr.as<A>() + (position * shape.heads + head) * shape.width;
  for (int64_t h = 0; h < shape.width; ++h) store(to + h, sums[h]);
}

// dbias or dgain of one head: each distance's sum over the streams in their order, that of the last also of all beyond.
void finish_distances(const AttentionShape& shape, const Workspace& workspace, TensorView by_distance, int64_t head) {
  float* to = by_distance.as<float>() + head * shape.biases;
  std::fill_n(to, shape.biases, 0.0F);
  for (int64_t distance = 0; distance < shape.keys(); ++distance) {
    float& sum = to[std::min(distance, shape.biases - 1)];
    for (int64_t stream = 0; stream < shape.streams; ++stream) {
      const PositionSums of(shape, workspace.of_pair(stream * shape.heads + head));
      sum += of.by_distance[shape.keys() - 1 - distance];
    }
  }
}

void finish_biases(const AttentionShape& shape, const Workspace& workspace, const RelativeAttentionBackward& args,
                   int64_t head) {
  const int64_t offset = head * shape.width;
  const auto content = [](const PositionSums& of) { return of.content_bias; };
  const auto position = [](const PositionSums& of) { return of.position_bias; };
  if (!args.du.empty()) add_streams(shape, workspace, head, content, args.du.as<float>() + offset);
  if (!args.dw.empty()) add_streams(shape, workspace, head, position, args.dw.as<float>() + offset);
  for (const TensorView& by_distance : {args.dbias, args.dgain})
    if (!by_distance.empty()) finish_distances(shape, workspace, by_distance, head);
}

template <typename A>
void attend_backward(const Queue& queue, const RelativeAttentionBackward& args) {
  const AttentionShape shape(args.inputs);
  const Workspace workspace =
      workspace_in(args.workspace.as<float>(), {.streams = shape.streams,
                                                .tgt_len = shape.queries,
                                                .keys = shape.keys(),
                                                .positions = shape.positions,
                                                .biases = wants_distances(args) ? shape.biases : 0,
                                                .heads = shape.heads,
                                                .d_head = shape.width});
  const auto threads = std::min<int64_t>(threads_for(queue, shape.scores()), workspace.team());
  std::atomic<int64_t> threads_here = 0;
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    BackwardBuffers buffers;
    const int64_t thread = threads_here++;
#pragma omp for collapse(2) schedule(dynamic)
    for (int64_t b = 0; b < shape.streams; ++b) {
      for (int64_t n = 0; n < shape.heads; ++n) attend_backward<A>(shape, args, workspace, thread, b, n, buffers);
    }
#pragma omp for collapse(2) nowait
    for (int64_t p = 0; p < shape.positions; ++p) {
      for (int64_t n = 0; n < shape.heads; ++n) finish_position<A>(shape, workspace, args.dr, n, p);
    }
#pragma omp for
    for (int64_t n = 0; n < shape.heads; ++n) finish_biases(shape, workspace, args, n);
  }
}

}  // namespace

void relative_attention_backward(Queue& queue, const RelativeAttentionBackward& args) {
  with_activations(args.inputs.qkv.dtype, [&]<typename A>() { attend_backward<A>(queue, args); });
}

int64_t relative_attention_workspace(const RelativeAttentionExtents& extents) {
  return workspace_in(nullptr, extents).elements();
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
