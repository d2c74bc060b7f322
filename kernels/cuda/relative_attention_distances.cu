// Gradient of the positions: a block holds kTile distances and walks over the queries of one stream and head. Its part
// of dw on the way.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element, int kWidth>
struct DistancesTiles : Division<Element, kWidth> {
  QueryTiles<Element, kWidth, true> queries;
  Tile<Element, kWidth> positions;
  KeyBands<Element, kWidth> band;
  Tile<Element, kTile<Element>> dscores;
  typename Division<Element, kWidth>::Scratch scratch;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit DistancesTiles(Memory& memory)
      : queries(memory),
        positions(memory, kTile<Element>),
        band(memory),
        dscores(memory, kTile<Element>),
        scratch(memory) {}
};

template <typename Element, int kWidth, bool kListed>
__global__ void __launch_bounds__(Division<Element, kWidth>::kBlockThreads)
    relative_attention_distances_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  DistancesTiles<Element, kWidth> tiles(memory);
  float* scratch = tiles.scratch.of_warp();

  using Part = Division<Element, kWidth>;
  const WarpPlace<Element> warp;
  const int column = warp.part * Part::kColumns;
  const int feature = warp.part * Part::kFeatures;
  const int e0 = simt::block() * kRows;
  const KeyRows<Element> keys = in.key_rows(at);
  const KeyRows<Element> values = in.value_rows(at);
  load_rows<Part::kBlockThreads>(in, tiles.positions, 0, in.position_rows(at), e0);
  Accumulators<Part::kFeatures> dpositions;
  float row_sums[4] = {};
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
      simt::sync_block();
      Accumulators<Part::kColumns> scores;
      Accumulators<Part::kColumns> dweights;
      multiply_straight(scores, tiles.queries.position, warp.row, tiles.positions, column);
      multiply_band<Part::kColumns>(scores, tiles.queries.content, warp.row, tiles.band.keys, scratch, column);
      multiply_band<Part::kColumns>(dweights, tiles.queries.doutput, warp.row, tiles.band.values, scratch, column);
      weights_and_gradients<KeyOrder::kDescending, ByDistance::kNothing>(in, at, i0 + warp.row, key_of, walk.seen(),
                                                                         query, dropout, scores, dweights);
      store_tile(tiles.dscores, warp.row, dweights, column);
      simt::sync_block();
      multiply_transposed(dpositions, &row_sums, tiles.dscores, warp.row, tiles.queries.position, feature);
      simt::sync_block();
      walk.move_on();
      follows = walk.follows(i0);
    }
  }
  simt::async_commit();
  simt::async_wait<0>();
  const int64_t head = static_cast<int64_t>(at.b) * in.heads + at.n;
  store_rows(
      dpositions, in.scale, in.d_head,
      [&](int row) {
        const int e = e0 + warp.row + row;
        return e < in.keys ? args.workspace.dr + (head * in.keys + e) * in.d_head : nullptr;
      },
      feature);
  simt::sync_block();  // also the copies of all threads have landed
  store_bias_part(tiles.positions, row_sums, tiles.scratch.of_block, in.scale, in.d_head,
                  args.workspace.dw + (head * simt::grid_size() + simt::block()) * in.d_head);
}

}  // namespace

template <typename Element>
void launch_distances(Queue& queue, const BackwardArguments<Element>& args) {
  with_width_and_lists(args.in, [&](auto width, auto listed) {
    constexpr int kWidth = decltype(width)::value;
    launch_tiles<DistancesTiles<Element, kWidth>>(
        queue, "relative_attention_distances", args, args.in.keys,
        relative_attention_distances_kernel<Element, kWidth, decltype(listed)::value>);
  });
}
template void launch_distances(Queue&, const BackwardArguments<float>&);
template void launch_distances(Queue&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
