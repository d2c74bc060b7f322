// Backward of relative attention: one kernel for each axis that a gradient is summed along, each drawing the scores
// again. Nothing is added from two blocks to one place, so the sums have one order and need no atomics.
//
//   row_sums   delta[i] = do[i] · o[i]
//   queries    a block holds queries and walks over keys: dq
//   keys       a block holds keys and walks over queries: dk, dv, and its part of du
//   distances  a block holds distances and walks over queries: its stream's part of dr and dw
//   reduce     dr, du, dw: the parts of all streams and blocks, in their order
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/relative_attention.cuh"

namespace segue::kernels::cuda {

namespace {

// The parts of the workspace: sizes in floats. A part of a bias gradient belongs to a tile of the smallest height.
struct Workspace {
  float* delta;  // [B, N, T]
  float* dr;     // [B, N, K, H]
  float* du;     // [B, N, tiles of keys, H]
  float* dw;     // [B, N, tiles of distances, H]
};

int64_t tiles_of(int64_t keys, int64_t tile) { return simt::divide_up(keys, tile); }

template <typename Element>
struct BackwardArguments {
  AttentionInputs<Element> in;
  const Element* doutput;
  const Element* output;
  const float* lse;
  Element* dqkv;
  Element* dmemory_kv;
  Workspace workspace;

  __device__ __forceinline__ const Element* doutput_row(int b, int n, int i) const {
    return i < in.tgt_len ? doutput + in.row(b, n, i) : nullptr;
  }
  // Of part 0 (keys) or 1 (values).
  __device__ __forceinline__ Element* dkey_or_dvalue(int b, int n, int j, int part) const {
    if (j >= in.mem_len) return dsegment(b, n, j - in.mem_len, 1 + part);
    return dmemory_kv + (((static_cast<int64_t>(b) * in.mem_len + j) * 2 + part) * in.heads + n) * in.d_head;
  }
  __device__ __forceinline__ Element* dsegment(int b, int n, int i, int part) const {
    return dqkv + (((static_cast<int64_t>(b) * in.tgt_len + i) * 3 + part) * in.heads + n) * in.d_head;
  }
};

template <typename Element>
__global__ void relative_attention_row_sums_kernel(BackwardArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  const int i = simt::block() * (simt::block_threads() / simt::kWarp) + simt::warp();
  if (i >= in.tgt_len) return;  // the whole warp
  const int64_t row = in.row(at.b, at.n, i);
  float sum = 0.0F;
  for (int h = simt::lane(); h < in.d_head; h += simt::kWarp)
    sum += static_cast<float>(args.doutput[row + h]) * static_cast<float>(args.output[row + h]);
  sum = simt::reduce_warp(sum, simt::Sum());
  if (simt::lane() == 0) args.workspace.delta[in.statistic(at.b, at.n, i)] = sum;
}

// What a lane needs of the two queries it holds.
template <typename Element>
struct QueryStatistics {
  float lse[2];
  float delta[2];

  __device__ __forceinline__ QueryStatistics(const BackwardArguments<Element>& args, const HeadPlace& at,
                                             int first_query) {
    const LaneOfAccumulators lane;
    for (int row = 0; row < 2; ++row) {
      const int query = first_query + lane.row(2 * row);
      const bool valid = query < args.in.tgt_len;
      const int64_t place = args.in.statistic(at.b, at.n, query);
      lse[row] = valid ? args.lse[place] : 0.0F;
      delta[row] = valid ? args.workspace.delta[place] : 0.0F;
    }
  }
};

// From scores and dp = do · v: the weights after dropout in place of the scores, ds in place of dp. key_of(row, column)
// is the key of a pair of the warp's tile.
template <typename Element, typename KeyOf>
__device__ __forceinline__ void weights_and_gradients(const BackwardArguments<Element>& args, const HeadPlace& at,
                                                      int first_query, const KeyOf& key_of,
                                                      Accumulators<kTile<Element>>& scores,
                                                      Accumulators<kTile<Element>>& dweights) {
  const AttentionInputs<Element>& in = args.in;
  const LaneOfAccumulators lane;
  const QueryStatistics<Element> query(args, at, first_query);
#pragma unroll
  for (int block = 0; block < kTile<Element> / 8; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = lane.row(i);
      const int j = key_of(row, lane.column(block, i));
      const bool visible = in.visible(first_query + row, j);
      const float score = scores.value[block][i] * in.scale;  // to the bit as in the forward
      const float weight = visible ? exp_of(score - query.lse[i / 2]) : 0.0F;
      float multiplier[1] = {in.dropatt.scale};
      if (in.dropatt.is_drawn && visible)
        in.dropatt.multipliers(dropatt_element(in, at, first_query + row, j), multiplier);
      scores.value[block][i] = weight * multiplier[0];
      dweights.value[block][i] = weight * (dweights.value[block][i] * multiplier[0] - query.delta[i / 2]);
    }
  }
}

// Accumulators of a warp's rows [row, row + 16) into a tile.
template <typename Element, int kWidth>
__device__ __forceinline__ void store_tile(const Tile<Element, kWidth>& tile, int row,
                                           const Accumulators<kWidth>& values) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kWidth / 8; ++block) {
    for (int i = 0; i < 4; ++i)
      *tile.at(row + lane.row(i), lane.column(block, i)) = static_cast<Element>(values.value[block][i]);
  }
}

// sums [16, kWidth] += transpose of columns [column, column + 16) of `a` · the rows of `b`; row_sums likewise with
// ones.
template <typename Element, int kWidth>
__device__ __forceinline__ void multiply_transposed(Accumulators<kWidth>& sums, float (*row_sums)[4],
                                                    const Tile<Element, kTile<Element>>& a, int column,
                                                    const Tile<Element, kWidth>& b) {
#pragma unroll
  for (int k = 0; k < kTile<Element>; k += 16) {
    FragmentA<Element> fragment;
    load_a_transposed(fragment, a, column, k);
    if (row_sums != nullptr) multiply(*row_sums, fragment, ones<Element>());
#pragma unroll
    for (int block = 0; block < kWidth; block += 16) {
      FragmentB<Element> pair[2];
      load_b_rows(pair, b, k, block);
      multiply(sums.value[block / 8], fragment, pair[0]);
      multiply(sums.value[block / 8 + 1], fragment, pair[1]);
    }
  }
}

// scale * values, a warp's 16 rows: row a goes to row_of(a), nowhere when that is null.
template <int kWidth, typename RowOf>
__device__ __forceinline__ void store_rows(const Accumulators<kWidth>& values, float scale, int d_head,
                                           const RowOf& row_of) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    auto* to = row_of(lane.row(i));
    if (to == nullptr) continue;
#pragma unroll
    for (int block = 0; block < kWidth / 8; ++block) {
      const int h = lane.column(block, i);
      if (h < d_head) to[h] = static_cast<std::remove_pointer_t<decltype(to)>>(scale * values.value[block][i]);
    }
  }
}

// A block's part of a bias gradient: sum over its rows of row_sums[row] * tile[row]. `sums` is scratch [kTile].
template <typename Element, int kWidth>
__device__ __forceinline__ void store_bias_part(const Tile<Element, kWidth>& tile, const float (&row_sums)[4],
                                                float* sums, float scale, int d_head, float* to) {
  const LaneOfAccumulators lane;
  if (lane.lane.pair == 0) {
    sums[simt::warp() * 16 + lane.row(0)] = row_sums[0];
    sums[simt::warp() * 16 + lane.row(2)] = row_sums[2];
  }
  simt::sync_block();
  for (int h = simt::thread(); h < d_head; h += simt::block_threads()) {
    float sum = 0.0F;
    for (int row = 0; row < kTile<Element>; ++row) sum += sums[row] * static_cast<float>(*tile.at(row, h));
    to[h] = scale * sum;
  }
}

// The tiles that all three kernels hold of the queries: with u, with w, and the gradient of the output.
template <typename Element, int kWidth>
struct QueryTiles {
  using T = Tile<Element, kWidth>;
  T content, position, doutput;

  __device__ __forceinline__ explicit QueryTiles(simt::SharedMemory& memory)
      : content(memory.take<Element>(T::elements(kTile<Element>))),
        position(memory.take<Element>(T::elements(kTile<Element>))),
        doutput(memory.take<Element>(T::elements(kTile<Element>))) {}
  static constexpr void reserve(simt::SharedLayout& layout) {
    for (int i = 0; i < 3; ++i) layout.take<Element>(T::elements(kTile<Element>));
  }
  __device__ __forceinline__ void load(const BackwardArguments<Element>& args, const HeadPlace& at, int i0) const {
    load_queries(args.in, at, i0, content, position);
    load_rows(args.in, doutput, 0, kTile<Element>, [&](int row) { return args.doutput_row(at.b, at.n, i0 + row); });
  }
};

template <typename Element>
__device__ __forceinline__ float* take_scratch(simt::SharedMemory& memory) {
  constexpr int kOfWarp = 16 * kBandStride<Element>;
  return memory.take<float>(kTile<Element> / 16 * kOfWarp) + simt::warp() * kOfWarp;
}
template <typename Element>
constexpr void reserve_scratch(simt::SharedLayout& layout) {
  layout.take<float>(kTile<Element> * kBandStride<Element>);
}

template <typename Element, int kWidth>
constexpr int64_t keys_shared_bytes() {
  using T = Tile<Element, kWidth>;
  simt::SharedLayout layout;
  QueryTiles<Element, kWidth>::reserve(layout);
  layout.take<Element>(T::elements(kTile<Element>));
  layout.take<Element>(T::elements(kTile<Element>));
  layout.take<Element>(T::elements(2 * kTile<Element>));
  layout.take<Element>(Tile<Element, kTile<Element>>::elements(kTile<Element>));
  layout.take<Element>(Tile<Element, kTile<Element>>::elements(kTile<Element>));
  reserve_scratch<Element>(layout);
  return layout.bytes();
}

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads<Element>) relative_attention_keys_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  using T = Tile<Element, kWidth>;
  using Pairs = Tile<Element, kRows>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  const QueryTiles<Element, kWidth> queries(memory);
  const T keys(memory.take<Element>(T::elements(kRows)));
  const T values(memory.take<Element>(T::elements(kRows)));
  Band<Element, kWidth> positions{T(memory.take<Element>(T::elements(2 * kRows)))};
  const Pairs weights_tile(memory.take<Element>(Pairs::elements(kRows)));
  const Pairs dscores_tile(memory.take<Element>(Pairs::elements(kRows)));
  float* scratch = take_scratch<Element>(memory);

  const int warp_row = simt::warp() * 16;
  const int j0 = simt::block() * kRows;
  const int first_query = std::max(0, j0 - in.mem_len) / kRows * kRows;
  const int last_query = std::min(in.tgt_len - 1, j0 + kRows - 1 + in.window - 1 - in.mem_len);
  const auto load_positions = [&](int i0, int row, int rows) {
    const int distance = in.mem_len + i0 - j0 - (kRows - 1) + row;
    load_rows(in, positions.tile, positions.place(row), rows, [&](int t) { return in.position(at.n, distance + t); });
  };

  load_rows(in, keys, 0, kRows, [&](int row) { return in.key(at.b, at.n, j0 + row); });
  load_rows(in, values, 0, kRows, [&](int row) { return in.value(at.b, at.n, j0 + row); });
  load_positions(first_query, 0, kRows);
  positions.turn();
  Accumulators<kWidth> dkeys;
  Accumulators<kWidth> dvalues;
  float row_sums[4] = {};
  for (int i0 = first_query; i0 <= last_query; i0 += kRows) {
    queries.load(args, at, i0);
    positions.turn();
    load_positions(i0, kRows, kRows);
    simt::async_commit();
    simt::async_wait<0>();
    simt::sync_block();
    Accumulators<kRows> scores;
    Accumulators<kRows> dweights;
    multiply_straight(scores, queries.content, warp_row, keys);
    multiply_band(scores, queries.position, warp_row, positions, scratch);
    multiply_straight(dweights, queries.doutput, warp_row, values);
    weights_and_gradients(
        args, at, i0 + warp_row, [&](int, int column) { return j0 + column; }, scores, dweights);
    store_tile(weights_tile, warp_row, scores);
    store_tile(dscores_tile, warp_row, dweights);
    simt::sync_block();
    multiply_transposed(dvalues, nullptr, weights_tile, warp_row, queries.doutput);
    multiply_transposed(dkeys, &row_sums, dscores_tile, warp_row, queries.content);
    simt::sync_block();
  }
  simt::async_commit();
  simt::async_wait<0>();
  const auto row_of = [&](int part) {
    return [&, part](int row) {
      const int j = j0 + warp_row + row;
      return j < in.keys ? args.dkey_or_dvalue(at.b, at.n, j, part) : nullptr;
    };
  };
  store_rows(dkeys, in.scale, in.d_head, row_of(0));
  store_rows(dvalues, 1.0F, in.d_head, row_of(1));
  const int64_t part = (static_cast<int64_t>(at.b) * in.heads + at.n) * simt::grid_size() + simt::block();
  simt::sync_block();  // also the copies of all threads have landed
  store_bias_part(keys, row_sums, scratch - warp_row * kBandStride<Element>, in.scale, in.d_head,
                  args.workspace.du + part * in.d_head);
}

template <typename Element, int kWidth>
constexpr int64_t distances_shared_bytes() {
  using T = Tile<Element, kWidth>;
  simt::SharedLayout layout;
  QueryTiles<Element, kWidth>::reserve(layout);
  layout.take<Element>(T::elements(kTile<Element>));
  layout.take<Element>(T::elements(2 * kTile<Element>));
  layout.take<Element>(T::elements(2 * kTile<Element>));
  layout.take<Element>(Tile<Element, kTile<Element>>::elements(kTile<Element>));
  reserve_scratch<Element>(layout);
  return layout.bytes();
}

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads<Element>)
    relative_attention_distances_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  using T = Tile<Element, kWidth>;
  using Pairs = Tile<Element, kRows>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  const QueryTiles<Element, kWidth> queries(memory);
  const T positions(memory.take<Element>(T::elements(kRows)));
  Band<Element, kWidth> keys{T(memory.take<Element>(T::elements(2 * kRows)))};
  Band<Element, kWidth> values{T(memory.take<Element>(T::elements(2 * kRows)))};
  const Pairs dscores_tile(memory.take<Element>(Pairs::elements(kRows)));
  float* scratch = take_scratch<Element>(memory);

  const int warp_row = simt::warp() * 16;
  const int e0 = simt::block() * kRows;
  const int first_query = std::max(0, e0 - in.mem_len) / kRows * kRows;
  const int end = e0 < in.window ? in.tgt_len : 0;
  const auto load_keys_and_values = [&](int i0, int row) {  // half a band
    const int first_key = in.mem_len + i0 - e0 - (kRows - 1) + row;
    load_rows(in, keys.tile, keys.place(row), kRows, [&](int t) { return in.key(at.b, at.n, first_key + t); });
    load_rows(in, values.tile, values.place(row), kRows, [&](int t) { return in.value(at.b, at.n, first_key + t); });
  };

  load_rows(in, positions, 0, kRows, [&](int row) { return in.position(at.n, e0 + row); });
  load_keys_and_values(first_query, 0);
  keys.turn(), values.turn();
  Accumulators<kWidth> dpositions;
  float row_sums[4] = {};
  for (int i0 = first_query; i0 < end; i0 += kRows) {
    queries.load(args, at, i0);
    keys.turn(), values.turn();
    load_keys_and_values(i0, kRows);
    simt::async_commit();
    simt::async_wait<0>();
    simt::sync_block();
    Accumulators<kRows> scores;
    Accumulators<kRows> dweights;
    multiply_straight(scores, queries.position, warp_row, positions);
    multiply_band(scores, queries.content, warp_row, keys, scratch);
    multiply_band(dweights, queries.doutput, warp_row, values, scratch);
    const int first_key = in.mem_len + i0 + warp_row - e0;
    weights_and_gradients(
        args, at, i0 + warp_row, [&](int row, int column) { return first_key + row - column; }, scores, dweights);
    store_tile(dscores_tile, warp_row, dweights);
    simt::sync_block();
    multiply_transposed(dpositions, &row_sums, dscores_tile, warp_row, queries.position);
    simt::sync_block();
  }
  simt::async_commit();
  simt::async_wait<0>();
  const int64_t head = static_cast<int64_t>(at.b) * in.heads + at.n;
  store_rows(dpositions, in.scale, in.d_head, [&](int row) {
    const int e = e0 + warp_row + row;
    return e < in.keys ? args.workspace.dr + (head * in.keys + e) * in.d_head : nullptr;
  });
  simt::sync_block();  // also the copies of all threads have landed
  store_bias_part(positions, row_sums, scratch - warp_row * kBandStride<Element>, in.scale, in.d_head,
                  args.workspace.dw + (head * simt::grid_size() + simt::block()) * in.d_head);
}

// ds in the order of the band's rows: of query a, column c stands at a - c + kTile - 1; zeros elsewhere.
template <typename Element>
using BandOfScores = Tile<Element, kTile<Element> + 16>;

template <typename Element>
__device__ __forceinline__ void store_band(const BandOfScores<Element>& tile, int row,
                                           const Accumulators<kTile<Element>>& values) {
  const LaneOfAccumulators lane;
  simt::sync_warp();  // the products before have been read
#pragma unroll
  for (int block = 0; block < kTile<Element> / 8; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int shifted = lane.row(i) - lane.column(block, i) + kTile<Element> - 1;
      *tile.at(row + lane.row(i), shifted) = static_cast<Element>(values.value[block][i]);
    }
  }
  simt::sync_warp();
}

// sums [16, kWidth] += rows [row, row + 16) of the band of scores · the band's rows they stand for.
template <typename Element, int kWidth>
__device__ __forceinline__ void multiply_band_rows(Accumulators<kWidth>& sums, const BandOfScores<Element>& a, int row,
                                                   const Band<Element, kWidth>& band) {
#pragma unroll 1
  for (int k = 0; k < kTile<Element> + 16; k += 16) {
    FragmentA<Element> fragment;
    load_a(fragment, a, row, k);
    const int place = band.place(row + k);
#pragma unroll
    for (int column = 0; column < kWidth; column += 16) {
      FragmentB<Element> pair[2];
      load_b_rows(pair, band.tile, place, column);
      multiply(sums.value[column / 8], fragment, pair[0]);
      multiply(sums.value[column / 8 + 1], fragment, pair[1]);
    }
  }
}

template <typename Element, int kWidth>
constexpr int64_t queries_shared_bytes() {
  using T = Tile<Element, kWidth>;
  simt::SharedLayout layout;
  QueryTiles<Element, kWidth>::reserve(layout);
  layout.take<Element>(T::elements(kTile<Element>));
  layout.take<Element>(T::elements(kTile<Element>));
  layout.take<Element>(T::elements(2 * kTile<Element>));
  layout.take<Element>(BandOfScores<Element>::elements(kTile<Element>));
  reserve_scratch<Element>(layout);
  return layout.bytes();
}

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads<Element>)
    relative_attention_queries_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  using T = Tile<Element, kWidth>;
  using BandTile = BandOfScores<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  const QueryTiles<Element, kWidth> queries(memory);
  const T keys(memory.take<Element>(T::elements(kRows)));
  const T values(memory.take<Element>(T::elements(kRows)));
  Band<Element, kWidth> positions{T(memory.take<Element>(T::elements(2 * kRows)))};
  Element* band_elements = memory.take<Element>(BandTile::elements(kRows));
  const BandTile band_of_scores(band_elements);
  float* scratch = take_scratch<Element>(memory);

  const int warp_row = simt::warp() * 16;
  const int i0 = (simt::grid_size() - 1 - simt::block()) * kRows;  // those with the most keys first
  const int last_key = std::min(in.keys - 1, in.mem_len + i0 + kRows - 1);
  const int first_tile = std::max(0, in.mem_len + i0 - in.window + 1) / kRows * kRows;
  const auto load_positions = [&](int j0, int row) {  // half a band
    const int distance = in.mem_len + i0 - j0 - (kRows - 1) + row;
    load_rows(in, positions.tile, positions.place(row), kRows, [&](int t) { return in.position(at.n, distance + t); });
  };

  for (int e = simt::thread(); e < BandTile::elements(kRows); e += simt::block_threads())
    band_elements[e] = static_cast<Element>(0.0F);
  queries.load(args, at, i0);
  load_positions(first_tile, kRows);
  positions.turn();
  Accumulators<kWidth> dqueries;
  for (int j0 = first_tile; j0 <= last_key; j0 += kRows) {
    load_rows(in, keys, 0, kRows, [&](int row) { return in.key(at.b, at.n, j0 + row); });
    load_rows(in, values, 0, kRows, [&](int row) { return in.value(at.b, at.n, j0 + row); });
    positions.turn();
    load_positions(j0, 0);
    simt::async_commit();
    simt::async_wait<0>();
    simt::sync_block();
    Accumulators<kRows> scores;
    Accumulators<kRows> dweights;
    multiply_straight(scores, queries.content, warp_row, keys);
    multiply_band(scores, queries.position, warp_row, positions, scratch);
    multiply_straight(dweights, queries.doutput, warp_row, values);
    weights_and_gradients(
        args, at, i0 + warp_row, [&](int, int column) { return j0 + column; }, scores, dweights);
    multiply_rows(dqueries, dweights, keys);
    store_band<Element>(band_of_scores, warp_row, dweights);
    multiply_band_rows<Element>(dqueries, band_of_scores, warp_row, positions);
    simt::sync_block();
  }
  store_rows(dqueries, in.scale, in.d_head, [&](int row) {
    const int i = i0 + warp_row + row;
    return i < in.tgt_len ? args.dsegment(at.b, at.n, i, 0) : nullptr;
  });
}

template <typename Element>
struct ReduceArguments {
  Workspace parts;
  Element* dr;  // [P, N, H]
  float* du;    // [N, H]
  float* dw;    // [N, H]
  int streams, keys, positions, heads, d_head, tiles;
};

// Beyond the last position, all distances share its row.
template <typename Element>
__global__ void relative_attention_reduce_positions_kernel(ReduceArguments<Element> args) {
  const int64_t model = static_cast<int64_t>(args.heads) * args.d_head;
  const int64_t element = static_cast<int64_t>(simt::block()) * simt::block_threads() + simt::thread();
  if (element >= args.positions * model) return;
  const auto position = static_cast<int>(element / model);
  const int64_t n = element % model / args.d_head;
  const int64_t h = element % args.d_head;
  const int end = position + 1 == args.positions ? args.keys : position + 1;
  float sum = 0.0F;
  for (int64_t b = 0; b < args.streams; ++b) {
    for (int64_t e = position; e < end; ++e)
      sum += args.parts.dr[((b * args.heads + n) * args.keys + e) * args.d_head + h];
  }
  args.dr[element] = static_cast<Element>(sum);
}

template <typename Element>
__global__ void relative_attention_reduce_biases_kernel(ReduceArguments<Element> args) {
  const int element = simt::block() * simt::block_threads() + simt::thread();
  if (element >= args.heads * args.d_head) return;
  const int64_t n = element / args.d_head;
  float du = 0.0F;
  float dw = 0.0F;
  for (int64_t b = 0; b < args.streams; ++b) {
    for (int64_t tile = 0; tile < args.tiles; ++tile) {
      const int64_t part = ((b * args.heads + n) * args.tiles + tile) * args.d_head + element % args.d_head;
      du += args.parts.du[part];
      dw += args.parts.dw[part];
    }
  }
  args.du[element] += du;
  args.dw[element] += dw;
}

template <typename Element>
Workspace divide_workspace(float* workspace, const AttentionInputs<Element>& in, int64_t streams) {
  const int64_t rows = streams * in.heads;
  const int64_t bias_parts = rows * tiles_of(in.keys, kTile<Element>) * in.d_head;
  Workspace parts{};
  parts.delta = workspace;
  parts.dr = parts.delta + rows * in.tgt_len;
  parts.du = parts.dr + rows * in.keys * in.d_head;
  parts.dw = parts.du + bias_parts;
  return parts;
}

template <typename Element>
void run_reduce(Stream& stream, const RelativeAttentionBackward& args, const BackwardArguments<Element>& arguments) {
  const AttentionInputs<Element>& in = arguments.in;
  const ReduceArguments<Element> reduce{.parts = arguments.workspace,
                                        .dr = args.dr.as<Element>(),
                                        .du = args.du.as<float>(),
                                        .dw = args.dw.as<float>(),
                                        .streams = static_cast<int>(args.qkv.shape[0]),
                                        .keys = in.keys,
                                        .positions = in.positions,
                                        .heads = in.heads,
                                        .d_head = in.d_head,
                                        .tiles = static_cast<int>(tiles_of(in.keys, kTile<Element>))};
  constexpr int kReduceThreads = 128;
  const int64_t model = static_cast<int64_t>(in.heads) * in.d_head;
  simt::launch(stream.cuda(), "relative_attention_reduce_positions",
               {.x = simt::divide_up(in.positions * model, kReduceThreads), .threads = kReduceThreads},
               relative_attention_reduce_positions_kernel<Element>, reduce);
  simt::launch(stream.cuda(), "relative_attention_reduce_biases",
               {.x = simt::divide_up(model, kReduceThreads), .threads = kReduceThreads},
               relative_attention_reduce_biases_kernel<Element>, reduce);
}

template <typename Element, int kWidth>
void run_axes(Stream& stream, const BackwardArguments<Element>& arguments, simt::Launch shape) {
  const AttentionInputs<Element>& in = arguments.in;
  shape.threads = kThreads<Element>;
  shape.x = simt::divide_up(in.tgt_len, kTile<Element>);
  shape.shared_bytes = queries_shared_bytes<Element, kWidth>();
  simt::launch(stream.cuda(), "relative_attention_queries", shape, relative_attention_queries_kernel<Element, kWidth>,
               arguments);
  shape.x = tiles_of(in.keys, kTile<Element>);
  shape.shared_bytes = keys_shared_bytes<Element, kWidth>();
  simt::launch(stream.cuda(), "relative_attention_keys", shape, relative_attention_keys_kernel<Element, kWidth>,
               arguments);
  shape.shared_bytes = distances_shared_bytes<Element, kWidth>();
  simt::launch(stream.cuda(), "relative_attention_distances", shape,
               relative_attention_distances_kernel<Element, kWidth>, arguments);
}

template <typename Element>
void run_backward(Stream& stream, const RelativeAttentionBackward& args) {
  AttentionInputs<Element> in = inputs_of<Element>(args);
  in.vectorised = in.vectorised && is_vectorisable(args.qkv, args.doutput);
  const int64_t streams = args.qkv.shape[0];
  const BackwardArguments<Element> arguments{.in = in,
                                             .doutput = args.doutput.as<Element>(),
                                             .output = args.output.as<Element>(),
                                             .lse = args.lse.as<float>(),
                                             .dqkv = args.dqkv.as<Element>(),
                                             .dmemory_kv = args.dmemory_kv.as<Element>(),
                                             .workspace = divide_workspace(args.workspace.as<float>(), in, streams)};
  simt::Launch shape{.y = in.heads, .z = static_cast<int>(streams), .threads = 128};
  shape.x = simt::divide_up(in.tgt_len, shape.threads / simt::kWarp);
  simt::launch(stream.cuda(), "relative_attention_row_sums", shape, relative_attention_row_sums_kernel<Element>,
               arguments);
  with_head_width(in.d_head, [&](auto width) { run_axes<Element, decltype(width)::value>(stream, arguments, shape); });
  run_reduce(stream, args, arguments);
}

}  // namespace

int64_t relative_attention_workspace(const RelativeAttentionExtents& e) {
  const int64_t most_tiles = tiles_of(e.keys, kTile<float>);
  return e.streams * e.heads * (e.tgt_len + (e.keys + 2 * most_tiles) * e.d_head);
}

void relative_attention_backward(Stream& stream, const RelativeAttentionBackward& args) {
  if (args.qkv.elements() == 0) return;
  if (args.qkv.dtype == DType::kBFloat16) {
    run_backward<BFloat16>(stream, args);
  } else {
    run_backward<float>(stream, args);
  }
}

}  // namespace segue::kernels::cuda
