// Gradient of the queries: a block holds kTile of them, of one stream and head, and walks over the keys they see, then
// over the distances at which they see them.
#include "kernels/cuda/relative_attention_score_gradients.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element, int kWidth, bool kBand, bool kListed>
__global__ void __launch_bounds__(Division<Element, kWidth>::kBlockThreads, Division<Element, kWidth>::kBlocksAtOnce)
    relative_attention_queries_kernel(BackwardArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const ScoreGradients<Element>& dscores = args.workspace.dscores;
  const HeadPlace at = args.head_of_block();
  simt::SharedMemory memory;
  ScoreTiles<Element, kWidth> tiles(memory);

  using Part = Division<Element, kWidth>;
  const WarpPlace<Element> warp;
  const int feature = warp.part * Part::kFeatures;
  const int i0 = (simt::grid_size() - 1 - simt::block()) * kTile<Element>;  // those with the most keys first
  Accumulators<Part::kFeatures> dqueries;
  const KeyRows<Element> keys = in.key_rows(at);
  multiply_along(
      in.template keys_seen_by<kListed>(at, i0), tiles,
      [&](int j0) { tiles.load_next(in, dscores, dscores.by_key, i0, j0, keys, j0); },
      [&](int, auto) { multiply_rows(dqueries, tiles.current.dscores, warp.row, tiles.current.rows, feature); });
  if constexpr (kBand) {
    const PositionRows<Element> positions = in.position_rows(at);
    multiply_along(
        in.template distances_seen_by<kListed>(at, i0), tiles,
        [&](int e0) { tiles.load_next(in, dscores, dscores.by_distance, i0, e0, positions, e0); },
        [&](int e0, auto seen) {
          clear_unseen(in, at, tiles.current, i0, e0, seen);
          multiply_rows(dqueries, tiles.current.dscores, warp.row, tiles.current.rows, feature);
        });
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
  with_width_and_lists(args.in, [&](auto width, auto listed) {
    constexpr int kWidth = decltype(width)::value;
    constexpr bool kListed = decltype(listed)::value;
    launch_tiles<ScoreTiles<Element, kWidth>>(
        queue, "relative_attention_queries", args, args.blocks_of_run(args.in.tgt_len),
        args.in.positions > 0 ? relative_attention_queries_kernel<Element, kWidth, true, kListed>
                              : relative_attention_queries_kernel<Element, kWidth, false, kListed>);
  });
}
template void launch_queries(Queue&, const BackwardArguments<float>&);
template void launch_queries(Queue&, const BackwardArguments<BFloat16>&);

}  // namespace segue::kernels::cuda
