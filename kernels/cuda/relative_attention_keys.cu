// Gradients of keys and values: a block holds kTile keys of one stream and head and walks over the queries that see
// them. On the way its part of du, and the gradients of scores for the kernels that follow.
#include "kernels/cuda/relative_attention_score_gradients.cuh"

namespace segue::kernels::cuda {

namespace {

// ds of scores becomes that of the products they were made of by gains.
template <KeyOrder kOrder, typename Element, int kColumns, typename KeyOf>
__device__ __forceinline__ void pass_gains(const AttentionInputs<Element>& in, const HeadPlace& at, int first_query,
                                           const KeyOf& key_of, const Accumulators<kColumns>& products,
                                           Accumulators<kColumns>& dscores) {
  visit_distances<kOrder, kColumns>(in, at, first_query, key_of, [&](float gain, int block, int i) {
    float& dscore = dscores.value[block][i];
    dscore = products.value[block][i] > 0.0F ? gain * dscore : 0.0F;
  });
}

// A tile of queries beside a tile of keys, and the band of positions between them.
template <typename Element, int kWidth, bool kBand>
struct KeysTiles : Division<Element, kWidth> {
  static constexpr int kColumns = Division<Element, kWidth>::kColumns;
  QueryTiles<Element, kWidth, kBand> queries;
  Tile<Element, kWidth> keys;
  Tile<Element, kWidth> values;
  Band<Element, kWidth> positions;
  Tile<Element, kTile<Element>> weights;
  Tile<Element, kTile<Element>> dscores;
  float* sums;  // [kTile]

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit KeysTiles(Memory& memory)
      : queries(memory),
        keys(memory, kTile<Element>),
        values(memory, kTile<Element>),
        positions(memory, kBand),
        weights(memory, kTile<Element>),
        dscores(memory, kTile<Element>),
        sums(memory.template take<float>(kTile<Element>)) {}

  __device__ __forceinline__ void load_keys(const AttentionInputs<Element>& in, const HeadPlace& at, int j0) const {
    load_rows<Division<Element, kWidth>::kBlockThreads>(in, keys, 0, in.key_rows(at), j0);
    load_rows<Division<Element, kWidth>::kBlockThreads>(in, values, 0, in.value_rows(at), j0);
  }
  // Half of the band of queries from i0 on and keys from j0 on: its rows from `row` on.
  __device__ __forceinline__ void load_positions(const AttentionInputs<Element>& in, const HeadPlace& at, int i0,
                                                 int j0, int row) const {
    const int distance = in.mem_len + i0 - j0 - (kTile<Element> - 1) + row;
    load_rows<Division<Element, kWidth>::kBlockThreads>(in, positions.tile, positions.place(row), in.position_rows(at),
                                                        distance);
  }
  // Weights and ds of the warp's queries and part of the keys, into their tiles.
  template <ByDistance kTerms, typename Seen>
  __device__ __forceinline__ void weigh(const AttentionInputs<Element>& in, const HeadPlace& at, int i0, int j0,
                                        Seen seen, const QueryStatistics<Element>& query,
                                        const WeightDropout<Element>& dropout) const {
    const WarpPlace<Element> warp;
    const int column = warp.part * kColumns;
    Accumulators<kColumns> scores;
    Accumulators<kColumns> gradients;
    multiply_straight(scores, queries.content, warp.row, keys, column);
    if constexpr (kBand) multiply_band(scores, queries.position, warp.row, positions, column);
    [[maybe_unused]] Accumulators<kColumns> products;
    if constexpr (kTerms == ByDistance::kGains) products = scores;
    multiply_straight(gradients, queries.doutput, warp.row, values, column);
    const auto key_of = [&](int) { return j0 + column; };
    weights_and_gradients<KeyOrder::kAscending, kTerms>(in, at, i0 + warp.row, key_of, seen, query, dropout, scores,
                                                        gradients);
    if constexpr (kTerms == ByDistance::kGains)
      pass_gains<KeyOrder::kAscending>(in, at, i0 + warp.row, key_of, products, gradients);
    store_tile(weights, warp.row, scores, column);
    store_tile(dscores, warp.row, gradients, column);
  }
};

template <typename Element, int kWidth, bool kBand, ByDistance kTerms, bool kListed>
__global__ void __launch_bounds__(Division<Element, kWidth>::kBlockThreads, kWidth > 64 ? 1 : 2)
    relative_attention_keys_kernel(BackwardArguments<Element> args) {
  constexpr int kRows = kTile<Element>;
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at = args.head_of_block();
  simt::SharedMemory memory;
  KeysTiles<Element, kWidth, kBand> tiles(memory);

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
      sync_tiles<Element, kWidth>();
      tiles.template weigh<kTerms>(in, at, i0, j0, walk.seen(), query, dropout);
      sync_tiles<Element, kWidth>();
      store_by_key<Part::kBlockThreads>(tiles.dscores, args.workspace.dscores, i0, j0);
      if constexpr (kBand) store_by_distance<Part::kBlockThreads>(in, tiles.dscores, args.workspace.dscores, i0, j0);
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
  store_bias_part(tiles.keys, row_sums, tiles.sums, in.scale, in.d_head, args.workspace.du + part * in.d_head);
}

}  // namespace

template <typename Element>
void launch_keys(Queue& queue, const BackwardArguments<Element>& args) {
  with_variant(args.in, [&](auto width, auto listed, auto band, auto terms) {
    constexpr int kWidth = decltype(width)::value;
    constexpr bool kBand = decltype(band)::value;
    launch_tiles<KeysTiles<Element, kWidth, kBand>>(
        queue, "relative_attention_keys", args, args.blocks_of_run(args.in.keys),
        relative_attention_keys_kernel<Element, kWidth, kBand, decltype(terms)::value, decltype(listed)::value>);
  });
}
template void launch_keys(Queue&, const BackwardArguments<float>&);
template void launch_keys(Queue&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
