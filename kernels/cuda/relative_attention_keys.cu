// Gradients of keys and values: a block holds kTile keys of one stream and head and walks over the queries that see
// them. Its part of du on the way.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element, int kWidth, bool kBand>
struct KeysTiles : PairTiles<Element, kWidth, kBand> {
  Tile<Element, kTile<Element>> weights;
  Tile<Element, kTile<Element>> dscores;
  typename Division<Element, kWidth>::Scratch scratch;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit KeysTiles(Memory& memory)
      : PairTiles<Element, kWidth, kBand>(memory),
        weights(memory, kTile<Element>),
        dscores(memory, kTile<Element>),
        scratch(memory, kBand) {}
};

template <typename Element, int kWidth, bool kBand, ByDistance kTerms, bool kListed>
__global__ void __launch_bounds__(Division<Element, kWidth>::kBlockThreads)
    relative_attention_keys_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  KeysTiles<Element, kWidth, kBand> tiles(memory);
  float* scratch = tiles.scratch.of_warp();

  using Part = Division<Element, kWidth>;
  const WarpPlace<Element> warp;
  const int column = warp.part * Part::kColumns;
  const int feature = warp.part * Part::kFeatures;
  const int j0 = simt::block() * kRows;

  tiles.load_keys(in, at, j0);
  Accumulators<Part::kFeatures> dkeys;
  Accumulators<Part::kFeatures> dvalues;
  float row_sums[4] = {};
  WeightDropout<Element> dropout(in);
  TileWalk<Element, kListed> walk = in.template queries_that_see<kListed>(at, j0);
  while (!walk.is_over()) {  // of one run of tiles after the other
    if constexpr (kBand) {
      tiles.load_positions(in, at, walk.row(), j0, 0);
      tiles.positions.turn();
    }
    for (bool follows = true; follows;) {
      const int i0 = walk.row();
      tiles.queries.load(args, at, i0);
      if constexpr (kBand) {
        tiles.positions.turn();
        tiles.load_positions(in, at, i0, j0, kRows);
      }
      simt::async_commit();
      const QueryStatistics<Element> query(args, at, i0 + warp.row);
      dropout.template draw<KeyOrder::kAscending, Part::kColumns>(at, i0 + warp.row, [&](int) { return j0 + column; });
      simt::async_wait<0>();
      simt::sync_block();
      Accumulators<Part::kColumns> weights;
      Accumulators<Part::kColumns> dscores;
      tiles.template weigh<kTerms>(in, at, i0, j0, walk.seen(), query, dropout, scratch, weights, dscores);
      store_tile(tiles.weights, warp.row, weights, column);
      store_tile(tiles.dscores, warp.row, dscores, column);
      simt::sync_block();
      multiply_transposed(dvalues, nullptr, tiles.weights, warp.row, tiles.queries.doutput, feature);
      multiply_transposed(dkeys, &row_sums, tiles.dscores, warp.row, tiles.queries.content, feature);
      simt::sync_block();
      walk.move_on();
      follows = walk.follows(i0);
    }
  }
  simt::async_commit();
  simt::async_wait<0>();
  const auto row_of = [&](int part) {
    return [&, part](int row) {
      const int j = j0 + warp.row + row;
      return j < in.keys ? args.dkey_or_dvalue(at.b, at.n, j, part) : nullptr;
    };
  };
  store_rows(dkeys, in.scale, in.d_head, row_of(0), feature);
  store_rows(dvalues, 1.0F, in.d_head, row_of(1), feature);
  const int64_t part = (static_cast<int64_t>(at.b) * in.heads + at.n) * simt::grid_size() + simt::block();
  simt::sync_block();  // also the copies of all threads have landed
  store_bias_part(tiles.keys, row_sums, tiles.scratch.of_block, in.scale, in.d_head,
                  args.workspace.du + part * in.d_head);
}

}  // namespace

template <typename Element>
void launch_keys(Queue& queue, const BackwardArguments<Element>& args) {
  with_variant(args.in, [&](auto width, auto listed, auto band, auto terms) {
    constexpr int kWidth = decltype(width)::value;
    constexpr bool kBand = decltype(band)::value;
    launch_tiles<KeysTiles<Element, kWidth, kBand>>(
        queue, "relative_attention_keys", args, args.in.keys,
        relative_attention_keys_kernel<Element, kWidth, kBand, decltype(terms)::value, decltype(listed)::value>);
  });
}
template void launch_keys(Queue&, const BackwardArguments<float>&);
template void launch_keys(Queue&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
