// Gradient of the positions: a block holds kTile distances and walks over the queries of one stream and head. Its part
// of dw on the way.
#include "kernels/cuda/relative_attention_score_gradients.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element, int kWidth>
struct DistancesTiles : ScoreTiles<Element, kWidth> {
  float* sums;

  template <typename Memory>
  __host__ __device__ __forceinline__ explicit DistancesTiles(Memory& memory)
      : ScoreTiles<Element, kWidth>(memory), sums(memory.template take<float>(kTile<Element>)) {}
};

template <typename Element, int kWidth, bool kListed>
__global__ void __launch_bounds__(Division<Element, kWidth>::kBlockThreads, Division<Element, kWidth>::kBlocksAtOnce)
    relative_attention_distances_kernel(BackwardArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const ScoreGradients<Element>& dscores = args.workspace.dscores;
  const HeadPlace at = args.head_of_block();
  simt::SharedMemory memory;
  DistancesTiles<Element, kWidth> tiles(memory);

  using Part = Division<Element, kWidth>;
  const WarpPlace<Element> warp;
  const int feature = warp.part * Part::kFeatures;
  const int e0 = simt::block() * kTile<Element>;
  Accumulators<Part::kFeatures> dpositions;
  float row_sums[4] = {};
  const Rows<Element> queries = args.query_rows(args.workspace.position, at);
  multiply_along<Element, kWidth>(
      in.template queries_at_distances<kListed>(at, e0), tiles,
      [&](int i0) { tiles.load_next(in, dscores, dscores.by_distance, i0, e0, queries, i0); },
      [&](int i0, auto seen) {
        clear_unseen(in, at, tiles.current, i0, e0, seen);
        multiply_transposed(dpositions, &row_sums, tiles.current.dscores, warp.row, tiles.current.rows, feature);
      });
  load_rows<Part::kBlockThreads>(in, tiles.next.rows, 0, in.position_rows(at), e0);
  simt::async_commit();
  const int64_t head = static_cast<int64_t>(at.b) * in.heads + at.n;
  store_rows(
      dpositions, in.scale, in.d_head,
      [&](int row) {
        const int e = e0 + warp.row + row;
        return e < in.keys ? args.workspace.dr + (head * in.keys + e) * in.d_head : nullptr;
      },
      feature);
  simt::async_wait<0>();
  store_bias_part(tiles.next.rows, row_sums, tiles.sums, in.scale, in.d_head,
                  args.workspace.dw + (head * simt::grid_size() + simt::block()) * in.d_head);
}

}  // namespace

template <typename Element>
void launch_distances(Queue& queue, const BackwardArguments<Element>& args) {
  with_width_and_lists(args.in, [&](auto width, auto listed) {
    constexpr int kWidth = decltype(width)::value;
    launch_tiles<DistancesTiles<Element, kWidth>>(
        queue, "relative_attention_distances", args, args.blocks_of_run(args.in.keys),
        relative_attention_distances_kernel<Element, kWidth, decltype(listed)::value>);
  });
}
template void launch_distances(Queue&, const BackwardArguments<float>&);
template void launch_distances(Queue&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
