// Gradients of keys and values: a block holds kTile keys of one stream and head and walks over the queries that see
// them. Its part of du on the way.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

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

}  // namespace

template <typename Element>
void launch_keys(Stream& stream, const BackwardArguments<Element>& args, simt::Launch shape) {
  with_head_width(args.in.d_head, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    shape.x = tiles_of(args.in.keys, kTile<Element>);
    shape.threads = kThreads<Element>;
    shape.shared_bytes = keys_shared_bytes<Element, kWidth>();
    simt::launch(stream.cuda(), "relative_attention_keys", shape, relative_attention_keys_kernel<Element, kWidth>,
                 args);
  });
}
template void launch_keys(Stream&, const BackwardArguments<float>&, simt::Launch);
template void launch_keys(Stream&, const BackwardArguments<BFloat16>&, simt::Launch);

}  // namespace segue::kernels::cuda
