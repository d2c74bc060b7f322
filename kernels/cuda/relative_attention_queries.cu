// Gradient of the queries: a block holds kTile of them, of one stream and head, and walks over the keys they see.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

// ds in the order of the band's rows: of query a, column c stands at a - c + kTile - 1; zeros elsewhere.
template <typename Element>
using BandOfScores = Tile<Element, kTile<Element> + 16>;

// Columns from `first` on.
template <typename Element, int kColumns>
__device__ __forceinline__ void store_band(const BandOfScores<Element>& tile, int row,
                                           const Accumulators<kColumns>& values, int first) {
  const LaneOfAccumulators lane;
#pragma unroll
  for (int block = 0; block < kColumns / 8; ++block) {
    for (int i = 0; i < 4; i += 2) {
      const float pair[2] = {values.value[block][i], values.value[block][i + 1]};
      const auto rounded = simt::packed<Element>(pair);
      const int shifted = lane.row(i) - first - lane.column(block, i) + kTile<Element> - 1;
      *tile.at(row + lane.row(i), shifted) = rounded.elements[0];
      *tile.at(row + lane.row(i), shifted - 1) = rounded.elements[1];
    }
  }
}

// sums += rows [row, row + 16) of the band of scores · the band's rows they stand for, their columns from `first` on.
template <typename Element, int kWidth, int kColumns>
__device__ __forceinline__ void multiply_band_rows(Accumulators<kColumns>& sums, const BandOfScores<Element>& a,
                                                   int row, const Band<Element, kWidth>& band, int first) {
  [[maybe_unused]] constexpr int kSteps = kParts<Element> == 1 ? kTile<Element> / 16 + 1 : 1;  // at a time
#pragma unroll kSteps
  for (int k = 0; k < kTile<Element> + 16; k += 16) {
    FragmentA<Element> fragment;
    load_a(fragment, a, row, k);
    multiply_16_rows(sums, fragment, band.tile, band.place(row + k), first);
  }
}

template <typename Element, int kWidth, bool kBand>
struct QueriesTiles : PairTiles<Element, kWidth, kBand> {
  Tile<Element, kTile<Element>> dscores;
  BandOfScores<Element> band_of_dscores;
  typename Division<Element, kWidth>::Scratch scratch;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit QueriesTiles(Memory& memory)
      : PairTiles<Element, kWidth, kBand>(memory),
        dscores(memory, kTile<Element>),
        band_of_dscores(memory, kBand ? kTile<Element> : 0),
        scratch(memory, kBand) {}
};

template <typename Element, int kWidth, bool kBand, ByDistance kTerms, bool kListed>
__global__ void __launch_bounds__(Division<Element, kWidth>::kBlockThreads)
    relative_attention_queries_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  QueriesTiles<Element, kWidth, kBand> tiles(memory);
  float* scratch = tiles.scratch.of_warp();

  using Part = Division<Element, kWidth>;
  const WarpPlace<Element> warp;
  const int column = warp.part * Part::kColumns;
  const int feature = warp.part * Part::kFeatures;
  const int i0 = (simt::grid_size() - 1 - simt::block()) * kRows;  // those with the most keys first

  tiles.queries.load(args, at, i0);
  if constexpr (kBand) {
    for (int e = simt::thread(); e < tiles.band_of_dscores.elements(kRows); e += simt::block_threads())
      tiles.band_of_dscores.data()[e] = static_cast<Element>(0.0F);
  }
  Accumulators<Part::kFeatures> dqueries;
  const QueryStatistics<Element> query(args, at, i0 + warp.row);
  WeightDropout<Element> dropout(in);
  TileWalk<Element, kListed> walk = in.template keys_seen_by<kListed>(at, i0);
  while (!walk.is_over()) {  // of one run of tiles after the other
    if constexpr (kBand) {
      tiles.load_positions(in, at, i0, walk.row(), kRows);
      tiles.positions.turn();
    }
    for (bool follows = true; follows;) {
      const int j0 = walk.row();
      tiles.load_keys(in, at, j0);
      if constexpr (kBand) {
        tiles.positions.turn();
        tiles.load_positions(in, at, i0, j0, 0);
      }
      simt::async_commit();
      dropout.template draw<KeyOrder::kAscending, Part::kColumns>(at, i0 + warp.row, [&](int) { return j0 + column; });
      simt::async_wait<0>();
      simt::sync_block();
      Accumulators<Part::kColumns> weights;
      Accumulators<Part::kColumns> dscores;
      tiles.template weigh<kTerms>(in, at, i0, j0, walk.seen(), query, dropout, scratch, weights, dscores);
      store_tile(tiles.dscores, warp.row, dscores, column);
      if constexpr (kBand) store_band(tiles.band_of_dscores, warp.row, dscores, column);
      simt::sync_block();
      multiply_rows(dqueries, tiles.dscores, warp.row, tiles.keys, feature);
      if constexpr (kBand) multiply_band_rows(dqueries, tiles.band_of_dscores, warp.row, tiles.positions, feature);
      simt::sync_block();
      walk.move_on();
      follows = walk.follows(j0);
    }
  }
  store_rows(
      dqueries, in.scale, in.d_head,
      [&](int row) {
        const int i = i0 + warp.row + row;
        return i < in.tgt_len ? args.dsegment(at.b, at.n, i, 0) : nullptr;
      },
      feature);
}

}  // namespace

template <typename Element>
void launch_queries(Queue& queue, const BackwardArguments<Element>& args) {
  with_variant(args.in, [&](auto width, auto listed, auto band, auto terms) {
    constexpr int kWidth = decltype(width)::value;
    constexpr bool kBand = decltype(band)::value;
    launch_tiles<QueriesTiles<Element, kWidth, kBand>>(
        queue, "relative_attention_queries", args, args.in.tgt_len,
        relative_attention_queries_kernel<Element, kWidth, kBand, decltype(terms)::value, decltype(listed)::value>);
  });
}
template void launch_queries(Queue&, const BackwardArguments<float>&);
template void launch_queries(Queue&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
