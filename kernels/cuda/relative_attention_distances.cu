// Gradient of the positions: a block holds kTile distances and walks over the queries of one stream and head. Its part
// of dw on the way.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

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

}  // namespace

template <typename Element>
void launch_distances(Stream& stream, const BackwardArguments<Element>& args, simt::Launch shape) {
  with_head_width(args.in.d_head, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    shape.x = tiles_of(args.in.keys, kTile<Element>);
    shape.threads = kThreads<Element>;
    shape.shared_bytes = distances_shared_bytes<Element, kWidth>();
    simt::launch(stream.cuda(), "relative_attention_distances", shape,
                 relative_attention_distances_kernel<Element, kWidth>, args);
  });
}
template void launch_distances(Stream&, const BackwardArguments<float>&, simt::Launch);
template void launch_distances(Stream&, const BackwardArguments<BFloat16>&, simt::Launch);

}  // namespace segue::kernels::cuda
