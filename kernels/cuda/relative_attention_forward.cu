// Forward of relative attention: a block holds kTile queries of one stream and head and walks over the keys they see.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/relative_attention.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element>
struct ForwardArguments {
  AttentionInputs<Element> in;
  Element* output;
  float* lse;
};

template <typename Element, int kWidth, bool kBand>
struct ForwardTiles {
  static constexpr int kBlockThreads = kThreads<Element>;

  Tile<Element, kWidth> content;   // queries + u
  Tile<Element, kWidth> position;  // queries + w
  Tile<Element, kWidth> keys;
  Tile<Element, kWidth> values;
  Band<Element, kWidth> band;  // of positions

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit ForwardTiles(Memory& memory)
      : content(memory, kTile<Element>),
        position(memory, kBand ? kTile<Element> : 0),
        keys(memory, kTile<Element>),
        values(memory, kTile<Element>),
        band(memory, kBand) {}
};

// The running softmax of a warp's 16 queries; a lane knows those of its two rows. Scores are yet to be scaled.
template <typename Element, int kWidth>
struct OnlineSoftmax {
  Accumulators<kWidth> output;
  float largest[2] = {-INFINITY, -INFINITY};  // score so far
  float sum[2] = {};                          // of this lane's columns only

  // Turns scores into weights relative to the largest score so far, and rescales the earlier sums likewise.
  __device__ __forceinline__ void add(Accumulators<kTile<Element>>& scores, float scale) {
    const float exponent = scale * kLog2E;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float top = largest[row];
#pragma unroll
      for (auto& block : scores.value) top = fmaxf(top, fmaxf(block[2 * row], block[2 * row + 1]));
      top = fmaxf(top, simt::shuffle_xor(top, 1));
      top = fmaxf(top, simt::shuffle_xor(top, 2));
      const float shift = top == -INFINITY ? 0.0F : top;  // nothing visible yet
      const float shrink = simt::exp2_approx((largest[row] - shift) * exponent);
      largest[row] = top;
      sum[row] *= shrink;
#pragma unroll
      for (auto& block : output.value) block[2 * row] *= shrink, block[2 * row + 1] *= shrink;
#pragma unroll
      for (auto& block : scores.value) {
        for (int i = 2 * row; i < 2 * row + 2; ++i)
          sum[row] += block[i] = simt::exp2_approx((block[i] - shift) * exponent);
      }
    }
  }

  __device__ __forceinline__ float total(int row) const {
    const float pair = sum[row] + simt::shuffle_xor(sum[row], 1);
    return pair + simt::shuffle_xor(pair, 2);
  }
};

template <typename Element, int kWidth>
__device__ __forceinline__ void store_output(const ForwardArguments<Element>& args, const HeadPlace& at,
                                             int first_query, OnlineSoftmax<Element, kWidth>& softmax) {
  const AttentionInputs<Element>& in = args.in;
  const LaneOfAccumulators lane;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int query = first_query + lane.row(2 * row);
    const float total = softmax.total(row);
#pragma unroll
    for (auto& block : softmax.output.value) {
      for (int i = 2 * row; i < 2 * row + 2; ++i) block[i] /= total;
    }
    if (query >= in.tgt_len) continue;
    if (lane.lane.pair == 0) args.lse[in.statistic(at.b, at.n, query)] = softmax.largest[row] * in.scale + logf(total);
  }
  store_rows(softmax.output, 1.0F, in.d_head, [&](int row) {
    const int query = first_query + row;
    return query < in.tgt_len ? args.output + in.row(at.b, at.n, query) : nullptr;
  });
}

template <typename Element, int kWidth, bool kBand, ByDistance kTerms, bool kListed>
__global__ void __launch_bounds__(kThreads<Element>, kWidth > 64 ? 2
                                                     : kBand     ? 3
                                                                 : 4)
    relative_attention_forward_kernel(ForwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  using Tiles = ForwardTiles<Element, kWidth, kBand>;
  Tiles tiles(memory);

  const int i0 = (simt::grid_size() - 1 - simt::block()) * kRows;  // those with the most keys first
  const int first_query = i0 + simt::warp() * 16;
  TileWalk<Element, kListed> walk = in.template keys_seen_by<kListed>(at, i0);
  const KeyRows<Element> keys = in.key_rows(at);
  const KeyRows<Element> values = in.value_rows(at);
  const PositionRows<Element> positions = in.position_rows(at);
  [[maybe_unused]] const auto load_positions =
      [&](int j0, int row) {  // half of the band of key tile j0, its rows from `row` on
        const int distance = in.mem_len + i0 - j0 - (kRows - 1) + row;
        load_rows<kThreads<Element>>(in, tiles.band.tile, tiles.band.place(row), positions, distance);
      };
  const auto load_keys = [&](int j0) {  // and the half of its band that the tile before does not have
    load_rows<kThreads<Element>>(in, tiles.keys, 0, keys, j0);
    if constexpr (kBand) load_positions(j0, 0);
  };

  load_queries<kBand>(in, at, i0, tiles.content, tiles.position);
  OnlineSoftmax<Element, kWidth> softmax;
  WeightDropout<Element> dropout(in);
  while (!walk.is_over()) {  // of one run of tiles after the other
    load_keys(walk.row());
    if constexpr (kBand) load_positions(walk.row(), kRows);
    simt::async_commit();
    for (bool follows = true; follows;) {
      const int j0 = walk.row();
      const auto seen = walk.seen();
      load_rows<kThreads<Element>>(in, tiles.values, 0, values, j0);
      simt::async_commit();
      dropout.template draw<KeyOrder::kAscending, kRows>(at, first_query, [&](int) { return j0; });
      simt::async_wait<1>();
      sync_tiles<Element, kWidth>();
      Accumulators<kRows> scores;
      multiply_straight(scores, tiles.content, simt::warp() * 16, tiles.keys);
      if constexpr (kBand) multiply_band(scores, tiles.position, simt::warp() * 16, tiles.band);
      simt::sync_block();  // all threads are done with these keys and positions
      walk.move_on();
      follows = walk.follows(j0);
      if (follows) {
        if constexpr (kBand) tiles.band.turn();
        load_keys(walk.row());
      }
      simt::async_commit();
      const auto key_of = [&](int) { return j0; };
      finish_scores<KeyOrder::kAscending, kTerms>(in, at, first_query, key_of, seen, scores);
      softmax.add(scores, in.scale);
      dropout.apply(scores);
      simt::async_wait<1>();
      sync_tiles<Element, kWidth>();
      multiply_rows(softmax.output, scores, tiles.values);
      simt::sync_block();  // and with these values
    }
  }
  simt::async_wait<0>();
  store_output(args, at, first_query, softmax);
}

template <typename Element>
void run_forward(Queue& queue, const RelativeAttentionForward& args) {
  const ForwardArguments<Element> arguments{
      .in = inputs_of<Element>(args.inputs), .output = args.output.as<Element>(), .lse = args.lse.as<float>()};
  with_variant(arguments.in, [&](auto width, auto listed, auto band, auto terms) {
    constexpr int kWidth = decltype(width)::value;
    constexpr bool kBand = decltype(band)::value;
    launch_tiles<ForwardTiles<Element, kWidth, kBand>>(
        queue, "relative_attention_forward", arguments, arguments.in.blocks_of(arguments.in.tgt_len),
        relative_attention_forward_kernel<Element, kWidth, kBand, decltype(terms)::value, decltype(listed)::value>);
  });
}

}  // namespace

void relative_attention_forward(Queue& queue, const RelativeAttentionForward& args) {
  if (args.inputs.qkv.elements() == 0) return;
  simt::with_element(args.inputs.qkv.dtype, [&](auto element) { run_forward<decltype(element)>(queue, args); });
}

}  // namespace segue::kernels::cuda
