// Shared by the kernels of the backward: their arguments, a tile's weights and gradients, and how results leave.
#pragma once

#include "kernels/cuda/relative_attention.cuh"

namespace segue::kernels::cuda {

// The gradients of the scores, ds, of the heads of a run, in whole tiles: [heads of the run, rows, columns], zeros for
// pairs that are not seen. The kernels' grids have the run's heads as y.
template <typename Element>
struct ScoreGradients {
  Element* by_key;       // column j for key j
  Element* by_distance;  // column M + i - j for key j; not there without distance terms
  int rows, columns;     // T and K, rounded up to tiles

  // Where the element of this row and column of the block's head lies in one of the two.
  template <typename Pointer>
  __device__ __forceinline__ Pointer at(Pointer of, int row, int column) const {
    return of + (static_cast<int64_t>(simt::block_y()) * rows + row) * columns + column;
  }
};

// The parts of the workspace.
template <typename Element>
struct Workspace {
  Element* content;   // [B, N, T, H]: queries + u
  Element* position;  // [B, N, T, H]: queries + w; this, dr and dw are not there without distance terms
  ScoreGradients<Element> dscores;
  float* delta;        // [B, N, T]
  float* dr;           // [B, N, K, H]
  float* du;           // [B, N, tiles of keys, H]
  float* dw;           // [B, N, tiles of distances, H]
  float* by_distance;  // [B, N, K], where dbias or dgain is wanted
};

// Heads that are worked on at once, counted through all streams.
struct HeadRun {
  int first, count;
};

template <typename Element>
struct BackwardArguments {
  AttentionInputs<Element> in;
  HeadRun run;
  const Element* doutput;
  const Element* output;
  const float* lse;
  Element* dqkv;
  Element* dmemory_kv;
  Workspace<Element> workspace;

  // A block for each tile of `rows` (queries, keys or distances) and head of the run.
  simt::Launch blocks_of_run(int rows) const { return {.x = simt::divide_up(rows, kTile<Element>), .y = run.count}; }
  __device__ __forceinline__ HeadPlace head_of_block() const {
    const int head = run.first + simt::block_y();
    return {.n = head % in.heads, .b = head / in.heads};
  }
  __device__ __forceinline__ Rows<Element> doutput_rows(const HeadPlace& at) const {
    return {doutput + in.row(at.b, at.n, 0), in.heads * in.d_head, 0, in.tgt_len};
  }
  // The rows of the workspace's `queries`.
  __device__ __forceinline__ Rows<Element> query_rows(const Element* queries, const HeadPlace& at) const {
    return {queries + in.statistic(at.b, at.n, 0) * in.d_head, in.d_head, 0, in.tgt_len};
  }
  // Part 0 is of the keys, part 1 of the values.
  __device__ __forceinline__ Element* dkey_or_dvalue(int b, int n, int j, int part) const {
    if (j >= in.mem_len) return dsegment(b, n, j - in.mem_len, 1 + part);
    return dmemory_kv + (((static_cast<int64_t>(b) * in.mem_len + j) * 2 + part) * in.heads + n) * in.d_head;
  }
  __device__ __forceinline__ Element* dsegment(int b, int n, int i, int part) const {
    return dqkv + (((static_cast<int64_t>(b) * in.tgt_len + i) * 3 + part) * in.heads + n) * in.d_head;
  }
};

// Each computes its gradient for the heads of the run, the first of them also what the others read.
template <typename Element>
void launch_keys(Queue& queue, const BackwardArguments<Element>& args);
template <typename Element>
void launch_queries(Queue& queue, const BackwardArguments<Element>& args);
template <typename Element>
void launch_distances(Queue& queue, const BackwardArguments<Element>& args);
// And this for all heads.
template <typename Element>
void launch_by_distance(Queue& queue, const BackwardArguments<Element>& args);

// How the kernels of the backward divide a tile of rows kWidth wide among a block's warps.
template <typename Element, int kWidth>
struct Division {
  static constexpr int kWarps = kTile<Element> / 16 * kWarpsBeside<Element, kWidth>;
  static constexpr int kBlockThreads = kWarps * simt::kWarp;
  static constexpr int kBlocksAtOnce =
      kWidth <= 64 ? 3 : 2;  // that registers are to leave room for on a multiprocessor
  static constexpr int kColumns = kTile<Element> / kWarpsBeside<Element, kWidth>;  // of the scores, for each warp
  static constexpr int kFeatures = kWidth / kWarpsBeside<Element, kWidth>;         // of the gradients, for each warp
  static_assert(kWarpsBeside<Element, kWidth> == 1 || kFeatures % 64 == 0);        // as load_b_rows wants offsets
};

// The statistics a lane needs of the two queries it holds.
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

// From scores and dp = do · v: the weights after dropout in place of the scores, ds in place of dp. key_of(row) is the
// key of the warp's row and column 0.
template <KeyOrder kOrder, ByDistance kTerms, typename Element, int kColumns, typename KeyOf, typename Seen>
__device__ __forceinline__ void weights_and_gradients(const AttentionInputs<Element>& in, const HeadPlace& at,
                                                      int first_query, const KeyOf& key_of, Seen seen,
                                                      const QueryStatistics<Element>& query,
                                                      const WeightDropout<Element>& dropout,
                                                      Accumulators<kColumns>& scores,
                                                      Accumulators<kColumns>& dweights) {
  finish_scores<kOrder, kTerms>(in, at, first_query, key_of, seen, scores);
  dropout.apply(dweights);
#pragma unroll
  for (int block = 0; block < kColumns / 8; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& weight = scores.value[block][i];
      weight = exp_of(weight * in.scale - query.lse[i / 2]);
      dweights.value[block][i] = weight * (dweights.value[block][i] - query.delta[i / 2]);
    }
  }
  dropout.apply(scores);
}

// A block's part of a bias gradient: sum over its rows of row_sums[row] * tile[row]. `sums` has room for kTile.
template <typename Element, int kWidth>
__device__ __forceinline__ void store_bias_part(const Tile<Element, kWidth>& tile, const float (&row_sums)[4],
                                                float* sums, float scale, int d_head, float* to) {
  const LaneOfAccumulators lane;
  const WarpPlace<Element> warp;
  if (lane.lane.pair == 0 && warp.part == 0) {
    sums[warp.row + lane.row(0)] = row_sums[0];
    sums[warp.row + lane.row(2)] = row_sums[2];
  }
  simt::sync_block();
  for (int h = simt::thread(); h < d_head; h += simt::block_threads()) {
    float sum = 0.0F;
    for (int row = 0; row < kTile<Element>; ++row) sum += sums[row] * static_cast<float>(*tile.at(row, h));
    to[h] = scale * sum;
  }
}

// The tiles from which scores and their gradients are made again: queries with u, for a band with w, and the gradient
// of the output.
template <typename Element, int kWidth, bool kBand>
struct QueryTiles {
  Tile<Element, kWidth> content, position, doutput;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit QueryTiles(Memory& memory)
      : content(memory, kTile<Element>),
        position(memory, kBand ? kTile<Element> : 0),
        doutput(memory, kTile<Element>) {}
  __device__ __forceinline__ void load(const BackwardArguments<Element>& args, const HeadPlace& at, int i0) const {
    load_rows<Division<Element, kWidth>::kBlockThreads>(args.in, content, 0,
                                                        args.query_rows(args.workspace.content, at), i0);
    if constexpr (kBand)
      load_rows<Division<Element, kWidth>::kBlockThreads>(args.in, position, 0,
                                                          args.query_rows(args.workspace.position, at), i0);
    load_rows<Division<Element, kWidth>::kBlockThreads>(args.in, doutput, 0, args.doutput_rows(at), i0);
  }
};

}  // namespace segue::kernels::cuda
