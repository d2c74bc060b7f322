// Gradient of the queries: a block holds kTile of them, of one stream and head, and walks over the keys they see.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

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

}  // namespace

template <typename Element>
void launch_queries(Stream& stream, const BackwardArguments<Element>& args, simt::Launch shape) {
  with_head_width(args.in.d_head, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    shape.x = tiles_of(args.in.tgt_len, kTile<Element>);
    shape.threads = kThreads<Element>;
    shape.shared_bytes = queries_shared_bytes<Element, kWidth>();
    simt::launch(stream.cuda(), "relative_attention_queries", shape, relative_attention_queries_kernel<Element, kWidth>,
                 args);
  });
}
template void launch_queries(Stream&, const BackwardArguments<float>&, simt::Launch);
template void launch_queries(Stream&, const BackwardArguments<BFloat16>&, simt::Launch);

}  // namespace segue::kernels::cuda
