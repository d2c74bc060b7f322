// What rows of the memory receive: a block holds kTile of their keys of one stream and head and walks over the queries
// that see them.
#include "kernels/cuda/relative_attention.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element>
struct ReceivedArguments {
  AttentionInputs<Element> in;
  const float* lse;
  int first_key, count;
  const float* before;  // or null: zeros
  float* received;
};

template <typename Element, int kWidth, bool kBand>
struct ReceivedTiles {
  static constexpr int kBlockThreads = kThreads<Element>;
  static constexpr int kWarps = kBlockThreads / simt::kWarp;

  Tile<Element, kWidth> content;   // queries + u
  Tile<Element, kWidth> position;  // queries + w
  Tile<Element, kWidth> keys;
  Band<Element, kWidth> band;  // of positions
  float* sums;                 // [kWarps, kTile]

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit ReceivedTiles(Memory& memory)
      : content(memory, kTile<Element>),
        position(memory, kBand ? kTile<Element> : 0),
        keys(memory, kTile<Element>),
        band(memory, kBand),
        sums(memory.template take<float>(kWarps * kTile<Element>)) {}
};

// The sums of weights over the queries of a warp, of each column those that this lane met.
template <typename Element>
struct ColumnSums {
  float of[kTile<Element> / 8][2] = {};

  // Of scores that are yet to be scaled.
  __device__ __forceinline__ void add(const ReceivedArguments<Element>& args, const HeadPlace& at, int first_query,
                                      const Accumulators<kTile<Element>>& scores) {
    const AttentionInputs<Element>& in = args.in;
    const LaneOfAccumulators lane;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const int query = first_query + lane.row(2 * row);
      const float lse = query < in.tgt_len ? args.lse[in.statistic(at.b, at.n, query)] : 0.0F;
#pragma unroll
      for (int block = 0; block < kTile<Element> / 8; ++block) {
        for (int i = 0; i < 2; ++i) of[block][i] += exp_of(scores.value[block][2 * row + i] * in.scale - lse);
      }
    }
  }
  // Those of all of the warp's queries.
  __device__ __forceinline__ void store(float* to) const {
    const LaneOfAccumulators lane;
#pragma unroll
    for (int block = 0; block < kTile<Element> / 8; ++block) {
      for (int i = 0; i < 2; ++i) {
        float sum = of[block][i];
        for (int mask = 4; mask < simt::kWarp; mask *= 2) sum += simt::shuffle_xor(sum, mask);
        if (lane.lane.group == 0) to[lane.column(block, i)] = sum;
      }
    }
  }
};

template <typename Element, int kWidth, bool kBand, ByDistance kTerms>
__global__ void __launch_bounds__(kThreads<Element>, kWidth > 64 ? 2 : 3)
    relative_attention_received_kernel(ReceivedArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  using Tiles = ReceivedTiles<Element, kWidth, kBand>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  Tiles tiles(memory);

  const int j0 = args.first_key + simt::block() * kRows;
  load_rows<kThreads<Element>>(in, tiles.keys, 0, in.key_rows(at), j0);
  ColumnSums<Element> sums;
  for (auto walk = in.template queries_that_see<false>(at, j0); !walk.is_over(); walk.move_on()) {
    const int i0 = walk.row();
    const int first_query = i0 + simt::warp() * 16;
    if constexpr (kBand) {
      const int nearest = in.mem_len + i0 - j0 - (kRows - 1);
      for (int row = 0; row < 2 * kRows; row += kRows)
        load_rows<kThreads<Element>>(in, tiles.band.tile, row, in.position_rows(at), nearest + row);
    }
    simt::async_commit();
    load_queries<kBand>(in, at, i0, tiles.content, tiles.position);
    simt::async_wait<0>();
    sync_tiles<Element, kWidth>();
    Accumulators<kRows> scores;
    multiply_straight(scores, tiles.content, simt::warp() * 16, tiles.keys);
    if constexpr (kBand) multiply_band(scores, tiles.position, simt::warp() * 16, tiles.band);
    finish_scores<KeyOrder::kAscending, kTerms>(
        in, at, first_query, [&](int) { return j0; }, walk.seen(), scores);
    sums.add(args, at, first_query, scores);
    simt::sync_block();  // all threads are done with these queries and positions
  }
  simt::async_commit();
  simt::async_wait<0>();
  sums.store(tiles.sums + simt::warp() * kRows);
  simt::sync_block();
  const int row = simt::block() * kRows + simt::thread();
  if (simt::thread() >= kRows || row >= args.count) return;
  const int64_t place = (static_cast<int64_t>(at.b) * in.heads + at.n) * args.count + row;
  float received = args.before == nullptr ? 0.0F : args.before[place];
  for (int warp = 0; warp < Tiles::kWarps; ++warp) received += tiles.sums[warp * kRows + simt::thread()];
  args.received[place] = received;
}

template <typename Element>
void run_received(Queue& queue, const RelativeAttentionReceived& args) {
  const ReceivedArguments<Element> arguments{.in = inputs_of<Element>(args.inputs),
                                             .lse = args.lse.as<float>(),
                                             .first_key = static_cast<int>(args.first_key),
                                             .count = static_cast<int>(args.received.shape[2]),
                                             .before = simt::data_of<float>(args.before),
                                             .received = args.received.as<float>()};
  with_variant(arguments.in, [&](auto width, auto /*listed*/, auto band, auto terms) {
    constexpr int kWidth = decltype(width)::value;
    constexpr bool kBand = decltype(band)::value;
    launch_tiles<ReceivedTiles<Element, kWidth, kBand>>(
        queue, "relative_attention_received", arguments, arguments.in.blocks_of(arguments.count),
        relative_attention_received_kernel<Element, kWidth, kBand, decltype(terms)::value>);
  });
}

}  // namespace

void relative_attention_received(Queue& queue, const RelativeAttentionReceived& args) {
  simt::with_element(args.inputs.qkv.dtype, [&](auto element) { run_received<decltype(element)>(queue, args); });
}

}  // namespace segue::kernels::cuda
