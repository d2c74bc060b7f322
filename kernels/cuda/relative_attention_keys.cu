// Gradients of keys and values: a block holds kTile keys of one stream and head and walks over the queries that see
// them. Its part of du on the way.
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element, int kWidth>
struct KeysTiles {
  QueryTiles<Element, kWidth> queries;
  Tile<Element, kWidth> keys;
  Tile<Element, kWidth> values;
  Band<Element, kWidth> positions;
  Tile<Element, kTile<Element>> weights;
  Tile<Element, kTile<Element>> dscores;
  BandScratch<Element> scratch;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit KeysTiles(Memory& memory)
      : queries(memory),
        keys(memory, kTile<Element>),
        values(memory, kTile<Element>),
        positions(memory),
        weights(memory, kTile<Element>),
        dscores(memory, kTile<Element>),
        scratch(memory) {}
};

template <typename Element, int kWidth>
__global__ void __launch_bounds__(kThreads<Element>) relative_attention_keys_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  simt::SharedMemory memory;
  KeysTiles<Element, kWidth> tiles(memory);
  float* scratch = tiles.scratch.of_warp();

  const int warp_row = simt::warp() * 16;
  const int j0 = simt::block() * kRows;
  const int first_query = std::max(0, j0 - in.mem_len) / kRows * kRows;
  const int last_query = std::min(in.tgt_len - 1, j0 + kRows - 1 + in.window - 1 - in.mem_len);
  const auto load_positions = [&](int i0, int row) {  // half a band
    const int distance = in.mem_len + i0 - j0 - (kRows - 1) + row;
    load_rows(in, tiles.positions.tile, tiles.positions.place(row), kRows,
              [&](int t) { return in.position(at.n, distance + t); });
  };

  load_rows(in, tiles.keys, 0, kRows, [&](int row) { return in.key(at.b, at.n, j0 + row); });
  load_rows(in, tiles.values, 0, kRows, [&](int row) { return in.value(at.b, at.n, j0 + row); });
  load_positions(first_query, 0);
  tiles.positions.turn();
  Accumulators<kWidth> dkeys;
  Accumulators<kWidth> dvalues;
  float row_sums[4] = {};
  for (int i0 = first_query; i0 <= last_query; i0 += kRows) {
    tiles.queries.load(args, at, i0);
    tiles.positions.turn();
    load_positions(i0, kRows);
    simt::async_commit();
    simt::async_wait<0>();
    simt::sync_block();
    Accumulators<kRows> scores;
    Accumulators<kRows> dweights;
    multiply_straight(scores, tiles.queries.content, warp_row, tiles.keys);
    multiply_band(scores, tiles.queries.position, warp_row, tiles.positions, scratch);
    multiply_straight(dweights, tiles.queries.doutput, warp_row, tiles.values);
    weights_and_gradients(
        args, at, i0 + warp_row, [&](int, int column) { return j0 + column; }, scores, dweights);
    store_tile(tiles.weights, warp_row, scores);
    store_tile(tiles.dscores, warp_row, dweights);
    simt::sync_block();
    multiply_transposed(dvalues, nullptr, tiles.weights, warp_row, tiles.queries.doutput);
    multiply_transposed(dkeys, &row_sums, tiles.dscores, warp_row, tiles.queries.content);
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
  store_bias_part(tiles.keys, row_sums, tiles.scratch.of_block, in.scale, in.d_head,
                  args.workspace.du + part * in.d_head);
}

}  // namespace

template <typename Element>
void launch_keys(Stream& stream, const BackwardArguments<Element>& args) {
  launch_tiles<KeysTiles>(stream, "relative_attention_keys", args, args.in.keys,
                          [](auto width) { return relative_attention_keys_kernel<Element, decltype(width)::value>; });
}
template void launch_keys(Stream&, const BackwardArguments<float>&);
template void launch_keys(Stream&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
