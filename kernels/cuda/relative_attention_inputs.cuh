// The inputs of the kernels of relative attention: where rows lie, which pairs are visible, and tiles filled with them.
// kernels/relative_attention.h has the formulas.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cuda/dropout_mask.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/tile_products.cuh"

namespace segue::kernels::cuda {

// Where some rows begin, and how many elements lie from one to the next; null where they do not lie so.
template <typename Element>
struct RowRun {
  const Element* first;
  int pitch;
};

// Rows [begin, end), `pitch` elements from one to the next. Row 0 would lie at `origin`.
template <typename Element>
struct Rows {
  const Element* origin;
  int pitch;
  int begin, end;

  __device__ __forceinline__ const Element* at(int row) const {
    return row >= begin && row < end ? origin + static_cast<int64_t>(row) * pitch : nullptr;
  }
  __device__ __forceinline__ RowRun<Element> run(int row, int count) const {
    return {row + count <= end ? at(row) : nullptr, pitch};
  }
};

// Keys or values: those of the memory, then those of the segment.
template <typename Element>
struct KeyRows {
  Rows<Element> memory, segment;

  __device__ __forceinline__ const Element* at(int j) const { return j < segment.begin ? memory.at(j) : segment.at(j); }
  __device__ __forceinline__ RowRun<Element> run(int j, int count) const {
    return j < segment.begin ? memory.run(j, count) : segment.run(j, count);
  }
};

// The row of each distance; those beyond the last position are encoded as the last.
template <typename Element>
struct PositionRows {
  Rows<Element> rows;
  int distances;

  __device__ __forceinline__ const Element* at(int distance) const {
    const int positions = rows.end;
    return distance < distances ? rows.at(distance < positions ? distance : positions - 1) : nullptr;
  }
  __device__ __forceinline__ RowRun<Element> run(int distance, int count) const { return rows.run(distance, count); }
};

// What scores have by distance in place of distance terms.
enum class ByDistance : uint8_t { kNothing, kBiases, kGains };

// Which pairs of a tile are seen: those that distances say.
struct SeenByDistance {};

constexpr int kListedRows = static_cast<int>(kScheduleTile);

// Or those that a schedule lists. There is no pointer that is null where all are seen: where zeros were chosen in place
// of an address and compared 5 cycles later, an H200 read at null; it seems that ptxas 13.0 of sm_90a left out a wait.
struct SeenByList {
  const uint64_t* masks;
  int mask;  // negative: all are seen

  __device__ __forceinline__ bool has_all() const { return mask < 0; }
  // A bit for each key or distance.
  __device__ __forceinline__ uint64_t row(int query) const {
    return masks[static_cast<int64_t>(mask) * kListedRows + query % kListedRows];
  }
};

// The tiles of one axis that a block's own tile meets, in increasing order: all from the first to the last.
template <typename Element, bool kListed>
class TileWalk {
 public:
  static constexpr int kRows = kTile<Element>;

  // Tiles from row `first` on, that begin before `end`.
  __device__ __forceinline__ TileWalk(int first, int end) : row_(first), end_(end) {}

  __device__ __forceinline__ bool is_over() const { return row_ >= end_; }
  __device__ __forceinline__ int row() const { return row_; }
  // Whether this tile comes right after that of row `before`, so that a band between them turns.
  __device__ __forceinline__ bool follows(int before) const { return before + kRows < end_; }
  __device__ __forceinline__ SeenByDistance seen() const { return {}; }
  __device__ __forceinline__ void move_on() { row_ += kRows; }

 private:
  int row_;
  const int end_;
};

// Those that a schedule lists, whose tiles may be two of these.
template <typename Element>
class TileWalk<Element, true> {
 public:
  static constexpr int kRows = kTile<Element>;
  static_assert(kListedRows % kRows == 0);

  // Those of entries [entry, last), where the axis has `end` rows.
  __device__ __forceinline__ TileWalk(const int32_t* entry, const int32_t* last, const uint64_t* masks, int end)
      : entry_(entry), last_(last), masks_(masks), row_(entry == last ? end : entry[0] * kListedRows), end_(end) {}

  __device__ __forceinline__ bool is_over() const { return row_ >= end_; }
  __device__ __forceinline__ int row() const { return row_; }
  __device__ __forceinline__ bool follows(int before) const { return !is_over() && row_ == before + kRows; }
  __device__ __forceinline__ SeenByList seen() const { return {masks_, entry_[1]}; }
  __device__ __forceinline__ void move_on() {
    row_ += kRows;
    if (row_ % kListedRows != 0) return;
    entry_ += 2;
    row_ = entry_ == last_ ? end_ : entry_[0] * kListedRows;
  }
  // Leaves out the tiles that end before `row` or at it.
  __device__ __forceinline__ void skip_to(int row) {
    while (!is_over() && row_ + kRows <= row) move_on();
  }

 private:
  const int32_t* entry_;
  const int32_t* last_;
  const uint64_t* masks_;
  int row_, end_;
};

// The lists of a schedule for the tiles of one axis.
struct AxisLists {
  const int32_t* starts = nullptr;  // [G, tiles + 1]; null: there is no schedule
  const int32_t* entries = nullptr;
  const uint64_t* masks = nullptr;
  int tiles = 0;
  bool by_head = false;

  AxisLists() = default;
  AxisLists(const VisibleTiles& of, const TileLists& lists)
      : starts(simt::data_of<int32_t>(lists.starts)),
        entries(simt::data_of<int32_t>(lists.entries)),
        masks(reinterpret_cast<const uint64_t*>(simt::data_of<int64_t>(of.masks))),
        tiles(static_cast<int>(lists.starts.shape[1]) - 1),
        by_head(of.groups > 1) {}
  // What the tile that holds row `own` meets of an axis of `end` rows.
  template <typename Element>
  __device__ __forceinline__ TileWalk<Element, true> walk(int n, int own, int end) const {
    const int32_t* start = starts + (by_head ? n * (tiles + 1) : 0) + own / kListedRows;
    return {entries + static_cast<int64_t>(start[0]) * 2, entries + static_cast<int64_t>(start[1]) * 2, masks, end};
  }
};

// Where this block works.
struct HeadPlace {
  int n = simt::block_y();
  int b = simt::block_z();
};

// The inputs of forward and backward.
template <typename Element>
struct AttentionInputs {
  const Element* qkv;
  const Element* memory_kv;
  const Element* r;
  const float* u;            // or null: zeros
  const float* w;            // or null: zeros
  const float* by_distance;  // [N, columns]: biases or gains
  int tgt_len, mem_len, keys, heads, d_head;
  int positions;         // 0: scores have no distance terms
  int columns;           // by distance; 0: there are none
  int memory_pitch;      // rows from one stream's memory to the next one's
  int window;            // larger than any distance when there is none
  const int32_t* reach;  // [B, T]; or null: no limit
  const int32_t* ahead;  // [B, T]; or null: nothing
  int surely_seen;       // the window, or nothing with a reach
  float scale;           // 1 / sqrt(H)
  float unscale;         // sqrt(H)
  bool vectorised;       // rows can be copied 16 bytes at a time
  AxisLists keys_of_queries, queries_of_keys, queries_of_distances, distances_of_queries;
  ByDistance terms;  // what by_distance holds
  int streams;
  simt::DropoutMask dropatt;

  // A block for each tile of `rows` (queries, keys or distances), head and stream.
  simt::Launch blocks_of(int rows) const {
    return {.x = simt::divide_up(rows, kTile<Element>), .y = heads, .z = streams};
  }

  __device__ __forceinline__ Rows<Element> query_rows(const HeadPlace& at) const { return segment(at, 0, 0); }
  __device__ __forceinline__ KeyRows<Element> key_rows(const HeadPlace& at) const { return keys_or_values(at, 0); }
  __device__ __forceinline__ KeyRows<Element> value_rows(const HeadPlace& at) const { return keys_or_values(at, 1); }
  __device__ __forceinline__ PositionRows<Element> position_rows(const HeadPlace& at) const {
    return {{r + at.n * d_head, heads * d_head, 0, positions}, keys};
  }
  // Whether queries have limits of their own.
  __device__ __forceinline__ bool has_limits() const { return reach != nullptr || ahead != nullptr; }
  // Whether a query sees a key by its distance, whatever the query's reach and what it sees ahead.
  __device__ __forceinline__ bool surely_sees(int i, int j) const {
    const int distance = mem_len + i - j;
    return i < tgt_len && j >= 0 && distance >= 0 && distance < surely_seen;  // and so j < keys
  }
  // Of the keys that a query sees; less than 0 for those behind the last.
  __device__ __forceinline__ int farthest_distance(const HeadPlace& at, int i) const {
    if (i >= tgt_len) return -1;
    return reach == nullptr ? window - 1 : std::min(window - 1, reach[static_cast<int64_t>(at.b) * tgt_len + i]);
  }
  // Likewise, 0 or less.
  __device__ __forceinline__ int nearest_distance(const HeadPlace& at, int i) const {
    if (ahead == nullptr || i >= tgt_len) return 0;
    return -std::min(ahead[static_cast<int64_t>(at.b) * tgt_len + i], tgt_len - 1 - i);
  }
  // The key after the last that a query may see. That of the next query is never before.
  __device__ __forceinline__ int end_of_sight(const HeadPlace& at, int i) const {
    const int last = std::min(i, tgt_len - 1);
    return mem_len + last + 1 - nearest_distance(at, last);
  }
  // The first key that the reach of a query leaves to it. That of the next query is never before.
  __device__ __forceinline__ int first_in_reach(const HeadPlace& at, int i) const {
    return reach == nullptr ? 0 : std::max(0, mem_len + i - reach[static_cast<int64_t>(at.b) * tgt_len + i]);
  }
  // The tiles of keys that queries from i0 on see, and those of queries that see keys from j0 on: the same pairs of
  // tiles, so that who walks along the ones finds what was left by who walked along the others.
  template <bool kListed>
  __device__ __forceinline__ TileWalk<Element, kListed> keys_seen_by(const HeadPlace& at, int i0) const {
    constexpr int kRows = kTile<Element>;
    if constexpr (kListed) {
      TileWalk<Element, true> walk = keys_of_queries.walk<Element>(at.n, i0, keys);
      walk.skip_to(first_in_reach(at, i0));
      return walk;
    } else {
      const int first = std::max(first_in_reach(at, i0), mem_len + i0 - window + 1);
      return {std::max(0, first) / kRows * kRows, end_of_sight(at, i0 + kRows - 1)};
    }
  }
  template <bool kListed>
  __device__ __forceinline__ TileWalk<Element, kListed> queries_that_see(const HeadPlace& at, int j0) const {
    constexpr int kRows = kTile<Element>;
    if constexpr (kListed) {
      return queries_of_keys.walk<Element>(at.n, j0, end_of_reach(at, j0, tgt_len));
    } else {
      const int end = std::min(tgt_len, j0 + kRows - 1 + window - mem_len);
      return {first_that_sees(at, j0), end_of_reach(at, j0, end)};
    }
  }
  // The tiles of distances at which queries from i0 on see keys, and those of queries that see keys at distances from
  // e0 on; of these also tiles out of reach.
  template <bool kListed>
  __device__ __forceinline__ TileWalk<Element, kListed> distances_seen_by(const HeadPlace& at, int i0) const {
    const int last = std::min(i0 + kTile<Element>, tgt_len) - 1;
    const int end = std::min(window, mem_len + last + 1 - first_in_reach(at, i0));
    if constexpr (kListed) {
      return distances_of_queries.walk<Element>(at.n, i0, end);
    } else {
      return {0, end};
    }
  }
  template <bool kListed>
  __device__ __forceinline__ TileWalk<Element, kListed> queries_at_distances(const HeadPlace& at, int e0) const {
    constexpr int kRows = kTile<Element>;
    if constexpr (kListed) {
      return queries_of_distances.walk<Element>(at.n, e0, tgt_len);
    } else {
      return {std::max(0, e0 - mem_len) / kRows * kRows, e0 < window ? tgt_len : 0};
    }
  }
  // Element h of head n of u or w.
  __device__ __forceinline__ float bias_at(const float* u_or_w, int n, int h) const {
    return u_or_w == nullptr ? 0.0F : u_or_w[n * d_head + h];
  }
  // The bias or gain of a distance; that of the first or the last for those beyond, which are in the future or share
  // it.
  __device__ __forceinline__ float at_distance(int n, int distance) const {
    const int column = distance < columns ? distance : columns - 1;
    return by_distance[static_cast<int64_t>(n) * columns + (column < 0 ? 0 : column)];
  }
  // Offsets into a tensor [B, T, N, H] (row) and into its float statistics [B, N, T] (statistic).
  __device__ __forceinline__ int64_t row(int b, int n, int i) const {
    return ((static_cast<int64_t>(b) * tgt_len + i) * heads + n) * d_head;
  }
  __device__ __forceinline__ int64_t statistic(int b, int n, int i) const {
    return (static_cast<int64_t>(b) * heads + n) * tgt_len + i;
  }

 private:
  // Where the first tile of queries begins that see as far as key j0.
  __device__ __forceinline__ int first_that_sees(const HeadPlace& at, int j0) const {
    constexpr int kRows = kTile<Element>;
    int first = std::max(0, j0 - mem_len) / kRows * kRows;
    if (ahead == nullptr) return first;
    while (first > 0 && end_of_sight(at, first - 1) > j0) first -= kRows;
    return first;
  }
  // Before `end`, behind the last tile of queries with a key of the tile from j0 on in reach.
  __device__ __forceinline__ int end_of_reach(const HeadPlace& at, int j0, int end) const {
    constexpr int kRows = kTile<Element>;
    if (reach == nullptr) return end;
    while (end > 0 && first_in_reach(at, (end - 1) / kRows * kRows) >= j0 + kRows) end = (end - 1) / kRows * kRows;
    return end;
  }
  // Queries, keys or values, the first of them as row `begin`.
  __device__ __forceinline__ Rows<Element> segment(const HeadPlace& at, int part, int begin) const {
    const int64_t first = static_cast<int64_t>(at.b) * tgt_len - begin;
    return {qkv + ((first * 3 + part) * heads + at.n) * d_head, 3 * heads * d_head, begin, begin + tgt_len};
  }
  __device__ __forceinline__ KeyRows<Element> keys_or_values(const HeadPlace& at, int part) const {
    const int64_t first = static_cast<int64_t>(at.b) * memory_pitch;
    const Element* origin = memory_kv + ((first * 2 + part) * heads + at.n) * d_head;
    return {{origin, 2 * heads * d_head, 0, mem_len}, segment(at, 1 + part, mem_len)};
  }
};

// Row `to` + i of the tile becomes row `from` + i of the source, d_head elements and zeros after them; all zeros where
// it has none, for kTile rows. kBlockThreads are the block's threads, all of which call. The copies are asynchronous:
// commit and wait.
template <int kBlockThreads, typename Element, int kWidth, typename Source>
__device__ __forceinline__ void load_rows(const AttentionInputs<Element>& in, const Tile<Element, kWidth>& tile, int to,
                                          const Source& source, int from) {
  const RowRun<Element> run = source.run(from, kTile<Element>);
  if (in.vectorised && in.d_head == kWidth && run.first != nullptr) {
    copy_rows<kTile<Element>, kBlockThreads>(tile, to, run.first, run.pitch);
  } else {
    load_rows(tile, to, kTile<Element>, {in.d_head, in.vectorised}, [&](int row) { return source.at(from + row); });
  }
}

// The queries with u and, for a band, with w added, kTile rows from query i0 on; zeros beyond the segment's end.
template <bool kBand, typename Element, int kWidth>
__device__ __forceinline__ void load_queries(const AttentionInputs<Element>& in, const HeadPlace& at, int i0,
                                             const Tile<Element, kWidth>& content,
                                             const Tile<Element, kWidth>& position) {
  using T = Tile<Element, kWidth>;
  constexpr int kPerChunk = T::kPerChunk;
  constexpr int kAtOnce = kThreads<Element> / T::kChunks;
  static_assert(kThreads<Element> % T::kChunks == 0);
  const Rows<Element> rows = in.query_rows(at);
  const int column = simt::thread() % T::kChunks * kPerChunk;
  const int count = in.d_head - column;
  float u[kPerChunk] = {};
  [[maybe_unused]] float w[kPerChunk] = {};
  for (int i = 0; i < std::min(count, kPerChunk); ++i) {
    u[i] = in.bias_at(in.u, at.n, column + i);
    if constexpr (kBand) w[i] = in.bias_at(in.w, at.n, column + i);
  }
  for (int row = simt::thread() / T::kChunks; row < kTile<Element>; row += kAtOnce) {
    const Element* query = rows.at(i0 + row);
    float q[kPerChunk] = {};
    if (query != nullptr && in.vectorised && count >= kPerChunk) {
      simt::load(query + column, q);
    } else {
      for (int i = 0; i < kPerChunk; ++i)
        q[i] = query != nullptr && i < count ? static_cast<float>(query[column + i]) : 0.0F;
    }
    float sums[kPerChunk];
    for (int i = 0; i < kPerChunk; ++i) sums[i] = query != nullptr ? q[i] + u[i] : 0.0F;
    simt::store(content.at(row, column), sums);
    if constexpr (kBand) {
      for (int i = 0; i < kPerChunk; ++i) sums[i] = query != nullptr ? q[i] + w[i] : 0.0F;
      simt::store(position.at(row, column), sums);
    }
  }
}

// Whether the rows of both can be copied 16 bytes at a time; `a` ends in the width of a head.
inline bool is_vectorisable(ConstTensorView a, ConstTensorView b) {
  return simt::is_vectorisable(a.dtype, a.shape[a.shape.rank() - 1], {a, b});
}

// The inputs as forward and backward name them.
template <typename Element>
AttentionInputs<Element> inputs_of(const RelativeAttentionInputs& args) {
  const Shape& qkv = args.qkv.shape;
  const auto extent = [](int64_t value) { return static_cast<int>(value); };
  const int64_t keys = args.memory_kv.shape[1] + qkv[1];
  const int window = extent(args.window > 0 ? std::min(args.window, keys) : keys);
  const ConstTensorView by_distance = args.gain.empty() ? args.bias : args.gain;
  const auto lists = [&](const TileLists& of) { return args.tiles.empty() ? AxisLists() : AxisLists(args.tiles, of); };
  const ByDistance terms = args.gain.empty() ? ByDistance::kBiases : ByDistance::kGains;
  return {.qkv = args.qkv.as<Element>(),
          .memory_kv = (args.memory_kv.empty() ? args.qkv : args.memory_kv).as<Element>(),  // not null: counted from
          .r = simt::data_of<Element>(args.r),
          .u = simt::data_of<float>(args.u),
          .w = simt::data_of<float>(args.w),
          .by_distance = simt::data_of<float>(by_distance),
          .tgt_len = extent(qkv[1]),
          .mem_len = extent(args.memory_kv.shape[1]),
          .keys = extent(keys),
          .heads = extent(qkv[3]),
          .d_head = extent(qkv[4]),
          .positions = args.r.empty() ? 0 : extent(args.r.shape[0]),
          .columns = by_distance.empty() ? 0 : extent(by_distance.shape[1]),
          .memory_pitch = extent(args.memory_pitch > 0 ? args.memory_pitch : args.memory_kv.shape[1]),
          .window = window,
          .reach = simt::data_of<int32_t>(args.reach),
          .ahead = simt::data_of<int32_t>(args.ahead),
          .surely_seen = args.reach.empty() ? window : 0,
          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(qkv[4]))),
          .unscale = static_cast<float>(std::sqrt(static_cast<double>(qkv[4]))),
          .vectorised = is_vectorisable(args.qkv, args.memory_kv) && is_vectorisable(args.qkv, args.r),
          .keys_of_queries = lists(args.tiles.keys_of_queries),
          .queries_of_keys = lists(args.tiles.queries_of_keys),
          .queries_of_distances = lists(args.tiles.queries_of_distances),
          .distances_of_queries = lists(args.tiles.distances_of_queries),
          .terms = by_distance.empty() ? ByDistance::kNothing : terms,
          .streams = extent(qkv[0]),
          .dropatt = simt::mask_of(args.dropout)};
}

}  // namespace segue::kernels::cuda
