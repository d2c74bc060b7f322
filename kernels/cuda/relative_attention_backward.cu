// Backward of relative attention: one kernel for each axis that a gradient is summed along, each recomputing the
// scores. No two blocks add to the same element, so the sums have one order and need no atomics.
//
//   rows         of each query delta[i] = do[i] · o[i], and q[i] + u and q[i] + w as the others read them
//   queries      a block holds queries and walks over keys: dq
//   keys         a block holds keys and walks over queries: dk, dv, and its part of du
//   distances    a block holds distances and walks over queries: its stream's part of dr and dw; if there are any
//   by distance  a block holds distances and walks over queries: its stream's part of dbias or dgain; if that is wanted
//   reduce       dr, du, dw, dbias, dgain: the parts of all streams and blocks, in their order
#include <algorithm>

#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/relative_attention_backward.cuh"

namespace segue::kernels::cuda {

namespace {

template <typename Element>
__global__ void relative_attention_rows_kernel(BackwardArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const HeadPlace at;
  const int i = simt::block() * (simt::block_threads() / simt::kWarp) + simt::warp();
  if (i >= in.tgt_len) return;  // the whole warp
  const int64_t row = in.row(at.b, at.n, i);
  const int64_t place = in.statistic(at.b, at.n, i);
  const Element* query = in.query_rows(at).at(i);
  float sum = 0.0F;
  for (int h = simt::lane(); h < in.d_head; h += simt::kWarp) {
    sum += static_cast<float>(args.doutput[row + h]) * static_cast<float>(args.output[row + h]);
    const auto q = static_cast<float>(query[h]);
    args.workspace.content[place * in.d_head + h] = static_cast<Element>(q + in.bias_at(in.u, at.n, h));
    if (in.positions > 0)
      args.workspace.position[place * in.d_head + h] = static_cast<Element>(q + in.bias_at(in.w, at.n, h));
  }
  sum = simt::reduce_warp(sum, simt::Sum());
  if (simt::lane() == 0) args.workspace.delta[place] = sum;
}

template <typename Element>
struct ReduceArguments {
  AttentionInputs<Element> in;
  Workspace<Element> parts;
  int tiles;           // that have parts of bias gradients
  Element* dr;         // [P, N, H]
  float* du;           // [N, H], or null
  float* dw;           // [N, H], or null
  float* by_distance;  // dbias or dgain [N, E], or null
};

// Beyond the last position, all distances share its row.
template <typename Element>
__global__ void relative_attention_reduce_positions_kernel(ReduceArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const int64_t model = static_cast<int64_t>(in.heads) * in.d_head;
  const int64_t element = static_cast<int64_t>(simt::block()) * simt::block_threads() + simt::thread();
  if (element >= in.positions * model) return;
  const auto position = static_cast<int>(element / model);
  const int64_t n = element % model / in.d_head;
  const int64_t h = element % in.d_head;
  const int end = position + 1 == in.positions ? in.keys : position + 1;
  float sum = 0.0F;
  for (int64_t b = 0; b < in.streams; ++b) {
    for (int64_t e = position; e < end; ++e) sum += args.parts.dr[((b * in.heads + n) * in.keys + e) * in.d_head + h];
  }
  args.dr[element] = static_cast<Element>(sum);
}

// The same of biases or gains; those of distances that do not occur get zeros.
template <typename Element>
__global__ void relative_attention_reduce_by_distance_kernel(ReduceArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const int64_t element = static_cast<int64_t>(simt::block()) * simt::block_threads() + simt::thread();
  if (element >= static_cast<int64_t>(in.heads) * in.columns) return;
  const int64_t n = element / in.columns;
  const auto column = static_cast<int>(element % in.columns);
  const int end = column + 1 == in.columns ? in.keys : std::min(column + 1, in.keys);
  float sum = 0.0F;
  for (int e = column; e < end; ++e) {
    for (int64_t b = 0; b < in.streams; ++b) sum += args.parts.by_distance[(b * in.heads + n) * in.keys + e];
  }
  args.by_distance[element] = sum;
}

constexpr int kReduceWarps = 16;

// The block has a feature for each lane. A warp takes every kReduceWarps-th part of it; the first warp adds up what all
// of them found, in their order.
template <typename Element>
__global__ void relative_attention_reduce_biases_kernel(ReduceArguments<Element> args) {
  const AttentionInputs<Element>& in = args.in;
  const int element = simt::block() * simt::kWarp + simt::lane();
  const bool valid = element < in.heads * in.d_head;
  const int64_t n = element / in.d_head;
  float du = 0.0F;
  float dw = 0.0F;
  for (int part = simt::warp(); valid && part < in.streams * args.tiles; part += kReduceWarps) {
    const int64_t b = part / args.tiles;
    const int64_t row = (b * in.heads + n) * args.tiles + part % args.tiles;
    if (args.du != nullptr) du += args.parts.du[row * in.d_head + element % in.d_head];
    if (args.dw != nullptr) dw += args.parts.dw[row * in.d_head + element % in.d_head];
  }
  auto& of_warps = simt::static_shared<float[kReduceWarps][2][simt::kWarp], 0>();
  of_warps[simt::warp()][0][simt::lane()] = du;
  of_warps[simt::warp()][1][simt::lane()] = dw;
  simt::sync_block();
  if (!valid || simt::warp() != 0) return;
  for (int warp = 1; warp < kReduceWarps; ++warp) {
    du += of_warps[warp][0][simt::lane()];
    dw += of_warps[warp][1][simt::lane()];
  }
  if (args.du != nullptr) args.du[element] += du;
  if (args.dw != nullptr) args.dw[element] += dw;
}

// Floats of each part of the workspace. Queries have room for elements of any dtype, and end where rows that are copied
// 16 bytes at a time may begin.
struct WorkspaceSizes {
  int64_t content, position, delta, dr, du, dw, by_distance;

  // `all_heads`: of all streams.
  WorkspaceSizes(int64_t all_heads, const RelativeAttentionExtents& e, int64_t tile)
      : content(simt::divide_up(all_heads * e.tgt_len * e.d_head, 4) * 4),
        position(e.positions > 0 ? content : 0),
        delta(all_heads * e.tgt_len),
        dr(e.positions > 0 ? all_heads * e.keys * e.d_head : 0),
        du(all_heads * simt::divide_up(e.keys, tile) * e.d_head),
        dw(e.positions > 0 ? du : 0),
        by_distance(e.biases > 0 ? all_heads * e.keys : 0) {}
  int64_t all() const { return content + position + delta + dr + du + dw + by_distance; }
};

template <typename Element>
Workspace<Element> divide_workspace(float* workspace, const AttentionInputs<Element>& in) {
  const WorkspaceSizes sizes(static_cast<int64_t>(in.streams) * in.heads,
                             {.tgt_len = in.tgt_len, .keys = in.keys, .positions = in.positions, .d_head = in.d_head},
                             kTile<Element>);
  Workspace<Element> parts{};
  parts.content = reinterpret_cast<Element*>(workspace);
  parts.position = reinterpret_cast<Element*>(workspace + sizes.content);
  parts.delta = workspace + sizes.content + sizes.position;
  parts.dr = parts.delta + sizes.delta;
  parts.du = parts.dr + sizes.dr;
  parts.dw = parts.du + sizes.du;
  parts.by_distance = parts.dw + sizes.dw;
  return parts;
}

// The gradient by distance that is wanted, if one is.
TensorView by_distance_of(const RelativeAttentionBackward& args) {
  return args.dgain.empty() ? args.dbias : args.dgain;
}

template <typename Element>
void run_reduce(Queue& queue, const RelativeAttentionBackward& args, const BackwardArguments<Element>& arguments) {
  const AttentionInputs<Element>& in = arguments.in;
  const ReduceArguments<Element> reduce{.in = in,
                                        .parts = arguments.workspace,
                                        .tiles = static_cast<int>(simt::divide_up(in.keys, kTile<Element>)),
                                        .dr = simt::data_of<Element>(args.dr),
                                        .du = simt::data_of<float>(args.du),
                                        .dw = simt::data_of<float>(args.dw),
                                        .by_distance = simt::data_of<float>(by_distance_of(args))};
  constexpr int kReduceThreads = 128;
  const int64_t model = static_cast<int64_t>(in.heads) * in.d_head;
  if (in.positions > 0) {
    simt::launch(queue.cuda(), "relative_attention_reduce_positions",
                 {.x = simt::divide_up(in.positions * model, kReduceThreads), .threads = kReduceThreads},
                 relative_attention_reduce_positions_kernel<Element>, reduce);
  }
  if (reduce.by_distance != nullptr) {
    simt::launch(
        queue.cuda(), "relative_attention_reduce_by_distance",
        {.x = simt::divide_up(static_cast<int64_t>(in.heads) * in.columns, kReduceThreads), .threads = kReduceThreads},
        relative_attention_reduce_by_distance_kernel<Element>, reduce);
  }
  if (reduce.du == nullptr && reduce.dw == nullptr) return;
  simt::launch(queue.cuda(), "relative_attention_reduce_biases",
               {.x = simt::divide_up(model, simt::kWarp), .threads = kReduceWarps * simt::kWarp},
               relative_attention_reduce_biases_kernel<Element>, reduce);
}

template <typename Element>
void run_backward(Queue& queue, const RelativeAttentionBackward& args) {
  AttentionInputs<Element> in = inputs_of<Element>(args.inputs);
  in.vectorised = in.vectorised && is_vectorisable(args.inputs.qkv, args.doutput) &&
                  is_vectorisable(args.inputs.qkv, args.workspace);
  const BackwardArguments<Element> arguments{.in = in,
                                             .doutput = args.doutput.as<Element>(),
                                             .output = args.output.as<Element>(),
                                             .lse = args.lse.as<float>(),
                                             .dqkv = args.dqkv.as<Element>(),
                                             .dmemory_kv = args.dmemory_kv.as<Element>(),
                                             .workspace = divide_workspace(args.workspace.as<float>(), in)};
  constexpr int kRowsOfBlock = 4;
  simt::launch(queue.cuda(), "relative_attention_rows",
               {.x = simt::divide_up(in.tgt_len, kRowsOfBlock),
                .y = in.heads,
                .z = in.streams,
                .threads = kRowsOfBlock * simt::kWarp},
               relative_attention_rows_kernel<Element>, arguments);
  launch_queries(queue, arguments);
  launch_keys(queue, arguments);
  if (in.positions > 0) launch_distances(queue, arguments);
  if (!by_distance_of(args).empty()) launch_by_distance(queue, arguments);
  run_reduce(queue, args, arguments);
}

}  // namespace

int64_t relative_attention_workspace(const RelativeAttentionExtents& e) {
  return WorkspaceSizes(e.streams * e.heads, e, kTile<float>).all();  // the smaller tile
}

void relative_attention_backward(Queue& queue, const RelativeAttentionBackward& args) {
  if (args.inputs.qkv.elements() == 0) return;
  simt::with_element(args.inputs.qkv.dtype, [&](auto element) { run_backward<decltype(element)>(queue, args); });
}

}  // namespace segue::kernels::cuda
