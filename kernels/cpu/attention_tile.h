// What the forward and the backward of fused relative attention share: where the rows of a head lie, how its scores are
// cut into tiles, and the scores of one tile.
//
// The position term, and why it costs about one more tile product. Within a tile of queries x keys it depends on the
// query and on the distance d = M + i - j alone, so one product of the tile's queries with a band of r, the few
// distances that occur, gives every position score there is. With distances in decreasing order the scores of query i
// are a run of neighbours in its row of the band, beginning one column earlier than those of query i - 1:
//
//                 block of `tile` distances | the next `tile` distances, nearer
//     query 0     .  .  .  .  .  .  .  .  x | x  x  x  x  x  x  x  x  .
//     query 1     .  .  .  .  .  .  .  x  x | x  x  x  x  x  x  x  .  .         x: added to the tile's scores
//     query 2     .  .  .  .  .  .  x  x  x | x  x  x  x  x  x  .  .  .
//
// The next tile of keys is nearer by `tile` distances: its left block is this tile's right block. So each tile computes
// one new block, a product as large as that of queries and keys: three tile products in all where attention without
// positions has two. No shifted copy is made and no [T, K] tensor exists.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/code_path.h"
#include "kernels/cpu/tile_gemm.h"
#include "kernels/cpu/vector_math.h"
#include "kernels/relative_attention.h"

namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL {

// Queries and keys of a tile, and the floats of a tile of rows of H. 32 KiB keep a product's three tiles in the second
// level cache, and a thread's tiles within a small stack.
constexpr int64_t kMaxTile = 64;
constexpr int64_t kTileFloats = 8192;
static_assert(kMaxHeadWidth * 32 <= kTileFloats);
constexpr size_t kMaxScratchBytes = size_t{448} << 10;  // of a thread: OpenMP may give it as little as 512 KiB of stack

struct AttentionShape {
  int64_t streams = 0;
  int64_t queries = 0;     // T
  int64_t memory = 0;      // M
  int64_t heads = 0;       // N
  int64_t width = 0;       // H
  int64_t positions = 0;   // P
  int64_t window = 0;      // 0: unlimited
  int64_t row_stride = 0;  // of a tile of rows: H in whole vectors
  int64_t tile = 0;        // queries and keys of a full tile
  float scale = 0.0F;

  explicit AttentionShape(const RelativeAttentionInputs& in);
  int64_t keys() const { return memory + queries; }
  int64_t scores() const { return streams * heads * queries * keys(); }
};

// Rows of one head inside a tensor: row i begins at data + i * stride.
template <typename Element>
struct Rows {
  Element* data = nullptr;
  int64_t stride = 0;
  Element* operator()(int64_t row) const { return data + row * stride; }
  auto from(int64_t first) const {
    return [rows = *this, first](int64_t row) { return rows(first + row); };
  }
};

// Keys or values: the memory's rows, then the segment's, in the two tensors that hold them.
template <typename Element>
struct KeyRows {
  Rows<Element> memory;
  Rows<Element> segment;
  int64_t memory_rows = 0;
  Element* operator()(int64_t row) const { return row < memory_rows ? memory(row) : segment(row - memory_rows); }
  auto from(int64_t first) const {
    return [rows = *this, first](int64_t row) { return rows(first + row); };
  }
};

// Queries, keys and values of one stream and head, or their gradients.
template <typename Element>
struct HeadRows {
  Rows<Element> queries;
  KeyRows<Element> keys;
  KeyRows<Element> values;

  HeadRows(const AttentionShape& shape, Element* qkv, Element* memory_kv, int64_t memory_pitch, int64_t stream,
           int64_t head) {
    const int64_t model_width = shape.heads * shape.width;
    Element* segment = qkv + stream * shape.queries * 3 * model_width + head * shape.width;
    queries = {segment, 3 * model_width};
    keys.segment = {segment + model_width, 3 * model_width};
    values.segment = {segment + 2 * model_width, 3 * model_width};
    keys.memory_rows = values.memory_rows = shape.memory;
    if (shape.memory == 0) return;
    Element* memory = memory_kv + stream * memory_pitch * 2 * model_width + head * shape.width;
    keys.memory = {memory, 2 * model_width};
    values.memory = {memory + model_width, 2 * model_width};
  }
};

// What one head attends with.
template <typename A>
struct HeadInputs {
  HeadRows<const A> rows;
  Rows<const A> positions;
  const float* content_bias;   // u
  const float* position_bias;  // w
};

template <typename A>
HeadInputs<A> head_inputs(const AttentionShape& shape, const RelativeAttentionInputs& in, int64_t stream,
                          int64_t head) {
  const int64_t offset = head * shape.width;
  return {
      .rows = {shape, in.qkv.as<A>(), in.memory_kv.as<A>(), in.memory_pitch > 0 ? in.memory_pitch : shape.memory,
               stream, head},
      .positions = {in.r.as<A>() + offset, shape.heads * shape.width},
      .content_bias = in.u.as<float>() + offset,
      .position_bias = in.w.as<float>() + offset,
  };
}

struct Range {
  int64_t first = 0;
  int64_t count = 0;
};

// A block of the score matrix.
struct Tile {
  Range queries;
  Range keys;
};

// Distance of the farthest pair a full tile of these queries and keys would hold: column 0 of its band. Column c is
// nearer by c.
inline int64_t farthest_distance(const AttentionShape& shape, int64_t first_query, int64_t first_key) {
  return shape.memory + first_query - first_key + shape.tile - 1;
}

// The keys that one of the queries, at least, sees.
inline Range seen_keys(const AttentionShape& shape, Range queries) {
  const int64_t diagonal = shape.memory + queries.first;
  const int64_t first = shape.window > 0 ? std::max<int64_t>(0, diagonal - shape.window + 1) : 0;
  return {first, diagonal + queries.count - first};
}

// Calls visit(tile) along the seen keys in increasing order; tiles in the future or beyond the window are never met.
template <typename Visit>
void visit_tiles(const AttentionShape& shape, Range queries, Visit visit) {
  const Range seen = seen_keys(shape, queries);
  for (int64_t done = 0; done < seen.count; done += shape.tile)
    visit(Tile{queries, {seen.first + done, std::min(shape.tile, seen.count - done)}});
}

// The scratch of one thread. A row has row_stride floats in a tile of rows, `tile` in a tile of columns or scores, and
// 2 * tile in the band.
struct ScoreBuffers {
  using RowTile = std::array<float, kTileFloats>;
  alignas(64) RowTile content_queries;   // scale * (q + u)
  alignas(64) RowTile position_queries;  // scale * (q + w)
  alignas(64) RowTile keys;
  alignas(64) std::array<RowTile, 2> positions;  // rows of r for the band's blocks; they take turns
  alignas(64) RowTile columns;                   // the transpose of a tile of rows
  alignas(64) std::array<float, kMaxTile * kMaxTile> scores;
  alignas(64) std::array<float, 2 * kMaxTile * kMaxTile> band;
  size_t right = 0;  // which of `positions` belongs to the band's right block

  const RowTile& left_positions() const { return positions[1 - right]; }
  const RowTile& right_positions() const { return positions[right]; }
};

// Copies rows row_at(0) .. row_at(count - 1), in either precision, padded with zeros; a null row is zeros.
template <typename RowAt>
void load_rows(const AttentionShape& shape, int64_t count, RowAt row_at, float* tile) {
  const int64_t whole = shape.width / kLanes * kLanes;
  for (int64_t row = 0; row < padded(count); ++row) {
    float* to = tile + row * shape.row_stride;
    const auto* from = row < count ? row_at(row) : nullptr;
    if (from == nullptr || whole < shape.width) clear_vectors(to, shape.row_stride);
    if (from == nullptr) continue;
    for (int64_t h = 0; h < whole; h += kLanes) store_vector(to + h, load_vector(from + h));
    for (int64_t h = whole; h < shape.width; ++h) to[h] = load(from + h);
  }
}

// columns[h][row] = rows[row][h], all padding included.
void transpose_rows(const AttentionShape& shape, int64_t count, const float* rows, float* columns);

// e^x for x <= 0, and 0 where that would be subnormal: the processor takes a hundred cycles for each subnormal number,
// and hidden scores, -infinity, would pass through them on their way to 0.
inline float attention_weight(float x) {
  constexpr float kSmallestExponent = -87.0F;
  const float weight = exp_float(x < kSmallestExponent ? kSmallestExponent : x);
  return x < kSmallestExponent ? 0.0F : weight;
}

// Before the first tile of some queries: scale * (q + u), scale * (q + w), and the left block of the first band.
template <typename A>
void begin_scores(const AttentionShape& shape, const HeadInputs<A>& head, Range queries, ScoreBuffers& buffers);

// The tile's scores, -infinity where query and key do not see each other; the band moves on by one block. Leaves the
// tile's keys and the positions of the band's blocks in their buffers, those of a block in the future as they were.
template <typename A>
void score_tile(const AttentionShape& shape, const HeadInputs<A>& head, const Tile& tile, ScoreBuffers& buffers);

}  // namespace segue::kernels::cpu::inline SEGUE_CPU_LEVEL
