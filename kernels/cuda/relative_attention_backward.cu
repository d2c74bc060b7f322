// Backward of relative attention: one kernel for each axis that a gradient is summed along, each drawing the scores
// again. Nothing is added from two blocks to one place, so the sums have one order and need no atomics.
//
//   row_sums   delta[i] = do[i] · o[i]
//   queries    a block holds queries and walks over keys: dq
//   keys       a block holds keys and walks over queries: dk, dv, and its part of du
//   distances  a block holds distances and walks over queries: its stream's part of dr and dw
//   reduce     dr, du, dw: the parts of all streams and blocks, in their order
#include <algorithm>

#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element>
__global__ void relative_attention_row_sums_kernel(BackwardArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  const int i = simt::block() * (simt::block_threads() / simt::kWarp) + simt::warp();
  if (i >= in.tgt_len) return;  // the whole warp
  const int64_t row = in.row(at.b, at.n, i);
  float sum = 0.0F;
  for (int h = simt::lane(); h < in.d_head; h += simt::kWarp)
    sum += static_cast<float>(args.doutput[row + h]) * static_cast<float>(args.output[row + h]);
  sum = simt::reduce_warp(sum, simt::Sum());
  if (simt::lane() == 0) args.workspace.delta[in.statistic(at.b, at.n, i)] = sum;
}

template <typename Element>
struct ReduceArguments {
  Workspace parts;
  Element* dr;  // [P, N, H]
  float* du;    // [N, H]
  float* dw;    // [N, H]
  int streams, keys, positions, heads, d_head, tiles;
};

// Beyond the last position, all distances share its row.
template <typename Element>
__global__ void relative_attention_reduce_positions_kernel(ReduceArguments<Element> args) {
  const int64_t model = static_cast<int64_t>(args.heads) * args.d_head;
  const int64_t element = static_cast<int64_t>(simt::block()) * simt::block_threads() + simt::thread();
  if (element >= args.positions * model) return;
  const auto position = static_cast<int>(element / model);
  const int64_t n = element % model / args.d_head;
  const int64_t h = element % args.d_head;
  const int end = position + 1 == args.positions ? args.keys : position + 1;
  float sum = 0.0F;
  for (int64_t b = 0; b < args.streams; ++b) {
    for (int64_t e = position; e < end; ++e)
      sum += args.parts.dr[((b * args.heads + n) * args.keys + e) * args.d_head + h];
  }
  args.dr[element] = static_cast<Element>(sum);
}

template <typename Element>
__global__ void relative_attention_reduce_biases_kernel(ReduceArguments<Element> args) {
  const int element = simt::block() * simt::block_threads() + simt::thread();
  if (element >= args.heads * args.d_head) return;
  const int64_t n = element / args.d_head;
  float du = 0.0F;
  float dw = 0.0F;
  for (int64_t b = 0; b < args.streams; ++b) {
    for (int64_t tile = 0; tile < args.tiles; ++tile) {
      const int64_t part = ((b * args.heads + n) * args.tiles + tile) * args.d_head + element % args.d_head;
      du += args.parts.du[part];
      dw += args.parts.dw[part];
    }
  }
  args.du[element] += du;
  args.dw[element] += dw;
}

template <typename Element>
Workspace divide_workspace(float* workspace, const AttentionInputs<Element>& in, int64_t streams) {
  const int64_t rows = streams * in.heads;
  const int64_t bias_parts = rows * tiles_of(in.keys, kTile<Element>) * in.d_head;
  Workspace parts{};
  parts.delta = workspace;
  parts.dr = parts.delta + rows * in.tgt_len;
  parts.du = parts.dr + rows * in.keys * in.d_head;
  parts.dw = parts.du + bias_parts;
  return parts;
}

template <typename Element>
void run_reduce(Stream& stream, const RelativeAttentionBackward& args, const BackwardArguments<Element>& arguments) {
  const AttentionInputs<Element>& in = arguments.in;
  const ReduceArguments<Element> reduce{.parts = arguments.workspace,
                                        .dr = args.dr.as<Element>(),
                                        .du = args.du.as<float>(),
                                        .dw = args.dw.as<float>(),
                                        .streams = static_cast<int>(args.qkv.shape[0]),
                                        .keys = in.keys,
                                        .positions = in.positions,
                                        .heads = in.heads,
                                        .d_head = in.d_head,
                                        .tiles = static_cast<int>(tiles_of(in.keys, kTile<Element>))};
  constexpr int kReduceThreads = 128;
  const int64_t model = static_cast<int64_t>(in.heads) * in.d_head;
  simt::launch(stream.cuda(), "relative_attention_reduce_positions",
               {.x = simt::divide_up(in.positions * model, kReduceThreads), .threads = kReduceThreads},
               relative_attention_reduce_positions_kernel<Element>, reduce);
  simt::launch(stream.cuda(), "relative_attention_reduce_biases",
               {.x = simt::divide_up(model, kReduceThreads), .threads = kReduceThreads},
               relative_attention_reduce_biases_kernel<Element>, reduce);
}

template <typename Element>
void run_backward(Stream& stream, const RelativeAttentionBackward& args) {
  AttentionInputs<Element> in = inputs_of<Element>(args);
  in.vectorised = in.vectorised && is_vectorisable(args.qkv, args.doutput);
  const int64_t streams = args.qkv.shape[0];
  const BackwardArguments<Element> arguments{.in = in,
                                             .doutput = args.doutput.as<Element>(),
                                             .output = args.output.as<Element>(),
                                             .lse = args.lse.as<float>(),
                                             .dqkv = args.dqkv.as<Element>(),
                                             .dmemory_kv = args.dmemory_kv.as<Element>(),
                                             .workspace = divide_workspace(args.workspace.as<float>(), in, streams)};
  simt::Launch shape{.y = in.heads, .z = static_cast<int>(streams), .threads = 128};
  shape.x = simt::divide_up(in.tgt_len, shape.threads / simt::kWarp);
  simt::launch(stream.cuda(), "relative_attention_row_sums", shape, relative_attention_row_sums_kernel<Element>,
               arguments);
  launch_queries(stream, arguments, shape);
  launch_keys(stream, arguments, shape);
  launch_distances(stream, arguments, shape);
  run_reduce(stream, args, arguments);
}

}  // namespace

int64_t relative_attention_workspace(const RelativeAttentionExtents& e) {
  const int64_t most_tiles = tiles_of(e.keys, kTile<float>);
  return e.streams * e.heads * (e.tgt_len + (e.keys + 2 * most_tiles) * e.d_head);
}

void relative_attention_backward(Stream& stream, const RelativeAttentionBackward& args) {
  if (args.qkv.elements() == 0) return;
  if (args.qkv.dtype == DType::kBFloat16) {
    run_backward<BFloat16>(stream, args);
  } else {
    run_backward<float>(stream, args);
  }
}

}  // namespace segue::kernels::cuda
