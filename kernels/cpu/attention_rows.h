// Where the rows of a head of attention lie in the tensors, and how they come into a tile of floats.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/prefetches.h"
#include "kernels/cpu/vector.h"
#include "kernels/relative_attention.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

// Queries and keys of a tile, and the floats of a tile of rows of H. 32 KiB keep a product's three tiles in the second
// level cache, and a thread's tiles within a small stack.
constexpr int64_t kMaxTile = 64;
constexpr int64_t kTileFloats = 8192;
constexpr int64_t kMaxStripTiles = 2;  // of queries that meet the same keys while these lie in cache
static_assert(kMaxHeadWidth * 32 <= kTileFloats);
constexpr size_t kMaxScratchBytes = size_t{456} << 10;  // of a thread: OpenMP may give it as little as 512 KiB of stack

struct AttentionShape {
  int64_t streams = 0;
  int64_t queries = 0;     // T
  int64_t memory = 0;      // M
  int64_t heads = 0;       // N
  int64_t width = 0;       // H
  int64_t positions = 0;   // P; 0: scores have no distance term
  int64_t biases = 0;      // E; 0: distances have neither biases nor gains
  int64_t window = 0;      // 0: unlimited
  int64_t row_stride = 0;  // of a tile of rows: H in whole vectors
  int64_t tile = 0;        // queries and keys of a full tile
  int64_t strip = 0;       // queries of a full strip: as many tiles as a tile of rows has room for
  float scale = 0.0F;

  explicit AttentionShape(const RelativeAttentionInputs& in);
  int64_t keys() const { return memory + queries; }
  bool has_distances() const { return positions > 0; }
  int64_t scores() const { return streams * heads * queries * keys(); }
};

// Rows of one head inside a tensor: row i begins at data + i * stride.
template <typename Element>
struct Rows {
  Element* data = nullptr;
  int64_t stride = 0;
  Element* operator()(int64_t row) const { return data + row * stride; }
};

// Keys or values: the memory's rows, then the segment's, in the two tensors that hold them.
template <typename Element>
struct KeyRows {
  Rows<Element> memory;
  Rows<Element> segment;
  int64_t memory_rows = 0;
  Element* operator()(int64_t row) const { return row < memory_rows ? memory(row) : segment(row - memory_rows); }
};

// The same rows, counted from `first` on.
template <typename AnyRows>
auto rows_from(AnyRows rows, int64_t first) {
  return [rows, first](int64_t row) { return rows(first + row); };
}

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

// How far the queries of a stream see.
struct Sight {
  const int32_t* reach = nullptr;  // [T]: back; null: no limit
  const int32_t* ahead = nullptr;  // [T]: keys after its own; null: none
  bool is_limited() const { return reach != nullptr || ahead != nullptr; }
};

// What the schedule lists of one head, where there is one, and how far its queries see.
struct HeadTiles {
  const int32_t* starts = nullptr;   // of the keys of tiles of queries
  const int32_t* entries = nullptr;  // a tile of keys and a mask, or -1, each
  const int64_t* masks = nullptr;
  Sight sight;

  bool empty() const { return starts == nullptr; }
};

inline HeadTiles head_tiles(const AttentionShape& shape, const RelativeAttentionInputs& in, int64_t stream,
                            int64_t head) {
  HeadTiles found;
  if (!in.reach.empty()) found.sight.reach = in.reach.as<int32_t>() + stream * shape.queries;
  if (!in.ahead.empty()) found.sight.ahead = in.ahead.as<int32_t>() + stream * shape.queries;
  if (in.tiles.empty()) return found;
  const TileLists& lists = in.tiles.keys_of_queries;
  const int64_t group = in.tiles.groups == 1 ? 0 : head;
  found.starts = lists.starts.as<int32_t>() + group * lists.starts.shape[1];
  found.entries = lists.entries.as<int32_t>();
  found.masks = in.tiles.masks.as<int64_t>();
  return found;
}

// The inputs of one stream and head.
template <typename A>
struct HeadInputs {
  HeadRows<const A> rows;
  Rows<const A> positions;
  const float* content_bias;   // u; null: zeros
  const float* position_bias;  // w; null: zeros
  const float* distance_bias;  // [E]; null: none
  const float* distance_gain;  // [E]; null: none
  HeadTiles tiles;
};

template <typename A>
HeadInputs<A> head_inputs(const AttentionShape& shape, const RelativeAttentionInputs& in, int64_t stream,
                          int64_t head) {
  const int64_t offset = head * shape.width;
  const auto by_distance = [&shape, head](ConstTensorView of) {
    return of.empty() ? nullptr : of.as<float>() + head * shape.biases;
  };
  const auto bias_of = [offset](ConstTensorView bias) { return bias.empty() ? nullptr : bias.as<float>() + offset; };
  return {
      .rows = {shape, in.qkv.as<A>(), in.memory_kv.as<A>(), in.memory_pitch > 0 ? in.memory_pitch : shape.memory,
               stream, head},
      .positions = {shape.has_distances() ? in.r.as<A>() + offset : nullptr, shape.heads * shape.width},
      .content_bias = bias_of(in.u),
      .position_bias = bias_of(in.w),
      .distance_bias = by_distance(in.bias),
      .distance_gain = by_distance(in.gain),
      .tiles = head_tiles(shape, in, stream, head),
  };
}

// Prefetches rows row_at(0) .. row_at(count - 1), of which there may be none, while others are computed with.
template <typename RowAt>
[[gnu::always_inline]] inline void prefetch_rows(const AttentionShape& shape, int64_t count, RowAt row_at) {
  for (int64_t row = 0; row < count; ++row) {
    const auto* from = row_at(row);
    prefetch_row(from, shape.width * static_cast<int64_t>(sizeof(*from)));
  }
}

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

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
