// Gradient of the biases or gains by distance: a block holds kTile distances and walks over the queries of one stream
// and head. A distance's scores are a column of its tiles: lanes sum what they hold of one, the warps' sums are added
// at the end.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

// The keys and values that tiles of queries meet at a tile of distances, as bands.
template <typename Element, int kWidth>
struct KeyBands {
  Band<Element, kWidth> keys, values;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit KeyBands(Memory& memory) : keys(memory), values(memory) {}

  __device__ __forceinline__ void turn() { keys.turn(), values.turn(); }
  // Half of the bands of queries from i0 on and distances from e0 on: their rows from `row` on.
  __device__ __forceinline__ void load(const AttentionInputs<Element>& in, const KeyRows<Element>& of_keys,
                                       const KeyRows<Element>& of_values, int i0, int e0, int row) const {
    constexpr int kThreads = Division<Element, kWidth>::kBlockThreads;
    const int first_key = in.mem_len + i0 - e0 - (kTile<Element> - 1) + row;
    load_rows<kThreads>(in, keys.tile, keys.place(row), of_keys, first_key);
    load_rows<kThreads>(in, values.tile, values.place(row), of_values, first_key);
  }
};

template <typename Element, int kWidth>
struct ByDistanceTiles : Division<Element, kWidth> {
  QueryTiles<Element, kWidth, false> queries;
  KeyBands<Element, kWidth> band;
  float* of_rows;  // [16 queries at a time, kTile]

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit ByDistanceTiles(Memory& memory)
      : queries(memory),
        band(memory),
        of_rows(memory.template take<float>(WarpPlace<Element>::kRowWarps * kTile<Element>)) {}
};

// A lane's two columns of every eight: their sums over rows of ds.
template <int kColumns>
struct ColumnSums {
  float value[kColumns / 8][2] = {};

  __device__ __forceinline__ void add(const Accumulators<kColumns>& dscores) {
#pragma unroll
    for (int block = 0; block < kColumns / 8; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) value[block][i % 2] += dscores.value[block][i];
    }
  }
  // The sums of the warp's 16 rows, in each of the lanes that hold a column.
  __device__ __forceinline__ void reduce() {
#pragma unroll
    for (auto& pair : value) {
      for (float& sum : pair) {
        for (int mask = simt::kWarp / 2; mask >= 4; mask /= 2) sum += simt::shuffle_xor(sum, mask);
      }
    }
  }
};

// A gain's part of every pair, but for the scale: ds times what the gain multiplies.
template <int kColumns>
__device__ __forceinline__ void multiply_rectified(Accumulators<kColumns>& dscores,
                                                   const Accumulators<kColumns>& products) {
#pragma unroll
  for (int block = 0; block < kColumns / 8; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) dscores.value[block][i] *= fmaxf(products.value[block][i], 0.0F);
  }
}

template <typename Element, int kWidth, ByDistance kTerms, bool kListed>
__global__ void __launch_bounds__(Division<Element, kWidth>::kBlockThreads, Division<Element, kWidth>::kBlocksAtOnce)
    relative_attention_by_distance_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  ByDistanceTiles<Element, kWidth> tiles(memory);

  using Part = Division<Element, kWidth>;
  const WarpPlace<Element> warp;
  const int column = warp.part * Part::kColumns;
  const int e0 = simt::block() * kRows;
  const KeyRows<Element> keys = in.key_rows(at);
  const KeyRows<Element> values = in.value_rows(at);
  ColumnSums<Part::kColumns> sums;
  WeightDropout<Element> dropout(in);
  TileWalk<Element, kListed> walk = in.template queries_at_distances<kListed>(at, e0);
  while (!walk.is_over()) {  // of one run of tiles after the other
    tiles.band.load(in, keys, values, walk.row(), e0, 0);
    tiles.band.turn();
    for (bool follows = true; follows;) {
      const int i0 = walk.row();
      tiles.queries.load(args, at, i0);
      tiles.band.turn();
      tiles.band.load(in, keys, values, i0, e0, kRows);
      simt::async_commit();
      const QueryStatistics<Element> query(args, at, i0 + warp.row);
      const int first_key = in.mem_len + i0 + warp.row - e0;
      const auto key_of = [&](int row) { return first_key + row - column; };  // and of column 0
      dropout.template draw<KeyOrder::kDescending, Part::kColumns>(at, i0 + warp.row, key_of);
      simt::async_wait<0>();
      sync_tiles<Element, kWidth>();
      Accumulators<Part::kColumns> scores;
      Accumulators<Part::kColumns> dweights;
      multiply_band(scores, tiles.queries.content, warp.row, tiles.band.keys, column);
      multiply_band(dweights, tiles.queries.doutput, warp.row, tiles.band.values, column);
      [[maybe_unused]] Accumulators<Part::kColumns> products;
      if constexpr (kTerms == ByDistance::kGains) products = scores;
      weights_and_gradients<KeyOrder::kDescending, kTerms>(in, at, i0 + warp.row, key_of, walk.seen(), query, dropout,
                                                           scores, dweights);
      if constexpr (kTerms == ByDistance::kGains) multiply_rectified(dweights, products);
      sums.add(dweights);
      simt::sync_block();  // all threads are done with these queries, keys and values
      walk.move_on();
      follows = walk.follows(i0);
    }
  }
  simt::async_commit();
  simt::async_wait<0>();

  sums.reduce();
  const LaneOfAccumulators lane;
  if (simt::lane() < 4) {
    for (int block = 0; block < Part::kColumns / 8; ++block) {
      for (int i = 0; i < 2; ++i)
        tiles.of_rows[warp.row / 16 * kRows + column + lane.column(block, i)] = sums.value[block][i];
    }
  }
  simt::sync_block();
  const int e = e0 + simt::thread();
  if (simt::thread() >= kRows || e >= in.keys) return;
  float sum = 0.0F;
  for (int rows = 0; rows < WarpPlace<Element>::kRowWarps; ++rows) sum += tiles.of_rows[rows * kRows + simt::thread()];
  if constexpr (kTerms == ByDistance::kGains) sum *= in.scale;
  args.workspace.by_distance[(static_cast<int64_t>(at.b) * in.heads + at.n) * in.keys + e] = sum;
}

}  // namespace

template <typename Element>
void launch_by_distance(Queue& queue, const BackwardArguments<Element>& args) {
  with_width_and_lists(args.in, [&](auto width, auto listed) {
    using enum ByDistance;
    constexpr int kWidth = decltype(width)::value;
    constexpr bool kListed = decltype(listed)::value;
    launch_tiles<ByDistanceTiles<Element, kWidth>>(
        queue, "relative_attention_by_distance", args, args.in.blocks_of(args.in.keys),
        args.in.terms == kGains ? relative_attention_by_distance_kernel<Element, kWidth, kGains, kListed>
                                : relative_attention_by_distance_kernel<Element, kWidth, kBiases, kListed>);
  });
}
template void launch_by_distance(Queue&, const BackwardArguments<float>&);
template void launch_by_distance(Queue&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
