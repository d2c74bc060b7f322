// Backward of relative attention: one kernel for each axis that a gradient is summed along. No two blocks add to the
// same element, so the sums have one order and need no atomics.
//
//   rows         of each query delta[i] = do[i] · o[i], and q[i] + u and q[i] + w as the others read them
//   keys         a block holds keys and walks over queries: dk, dv, its part of du; and ds, made from the scores anew
//   queries      a block holds queries and walks over ds by key and by distance: dq
//   distances    a block holds distances and walks over ds of queries: its stream's part of dr and dw; if there are any
//   by distance  a block holds distances and walks over queries, making the scores anew: its stream's part of dbias or
//                dgain; if that is wanted
//   reduce       dr, du, dw, dbias, dgain: the parts of all streams and blocks, in their order
//
// Keys, queries and distances run for as many heads at once as the workspace has room for ds, then for the next.
#include <algorithm>
#include <utility>

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
  const auto visit = [&](auto at_once) {
    constexpr int kAtOnce = decltype(at_once)::value;  // features of a lane
    for (int h = kAtOnce * simt::lane(); h < in.d_head; h += kAtOnce * simt::kWarp) {
      float doutput[kAtOnce], output[kAtOnce], q[kAtOnce], with_u[kAtOnce], with_w[kAtOnce];
      simt::load(args.doutput + row + h, doutput);
      simt::load(args.output + row + h, output);
      simt::load(query + h, q);
      for (int k = 0; k < kAtOnce; ++k) {
        sum += doutput[k] * output[k];
        with_u[k] = q[k] + in.bias_at(in.u, at.n, h + k);
        with_w[k] = q[k] + in.bias_at(in.w, at.n, h + k);
      }
      simt::store(args.workspace.content + place * in.d_head + h, with_u);
      if (in.positions > 0) simt::store(args.workspace.position + place * in.d_head + h, with_w);
    }
  };
  in.vectorised ? visit(std::integral_constant<int, 2>()) : visit(std::integral_constant<int, 1>());
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
  for (int64_t e = position; e < end; ++e) {
#pragma unroll 8
    for (int64_t b = 0; b < in.streams; ++b) sum += args.parts.dr[((b * in.heads + n) * in.keys + e) * in.d_head + h];
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

constexpr int kMostHeads = 65535;  // of a grid, as y

// ds of one head, by key and, where there are distance terms, by distance.
template <typename Element>
struct ScoreSizes {
  int64_t rows, columns, elements, bytes;

  explicit ScoreSizes(const RelativeAttentionExtents& e)
      : rows(simt::divide_up(e.tgt_len, kTile<Element>) * kTile<Element>),
        columns(simt::divide_up(e.keys, kTile<Element>) * kTile<Element>),
        elements(rows * columns),
        bytes((e.positions > 0 ? 2 : 1) * elements * static_cast<int64_t>(sizeof(Element))) {}
  // Never less for more keys, of which there are fewer in a growing memory than the workspace was made for.
  int64_t bytes_of_run(int64_t heads, int64_t at_most) const {
    return std::max(bytes, std::min(at_most, heads * bytes));
  }
  int64_t heads_of_run(int64_t heads, int64_t at_most) const {
    return std::min<int64_t>(bytes_of_run(heads, at_most) / bytes, kMostHeads);
  }
};

// Floats of each part of the workspace. What is copied 16 bytes at a time comes first.
template <typename Element>
struct WorkspaceSizes {
  int64_t content, position, scores, delta, dr, du, dw, by_distance;

  // `heads`: of all streams.
  WorkspaceSizes(int64_t heads, const RelativeAttentionExtents& e)
      : content(whole_chunks(heads * e.tgt_len * e.d_head * static_cast<int64_t>(sizeof(Element)))),
        position(e.positions > 0 ? content : 0),
        scores(whole_chunks(ScoreSizes<Element>(e).bytes_of_run(heads, e.score_bytes))),
        delta(heads * e.tgt_len),
        dr(e.positions > 0 ? heads * e.keys * e.d_head : 0),
        du(heads * simt::divide_up(e.keys, kTile<Element>) * e.d_head),
        dw(e.positions > 0 ? du : 0),
        by_distance(e.biases > 0 ? heads * e.keys : 0) {}
  int64_t all() const { return kToAlign + content + position + scores + delta + dr + du + dw + by_distance; }

  static constexpr int64_t kToAlign = 3;  // before the first, which begins at a multiple of 16 bytes
  static int64_t whole_chunks(int64_t bytes) { return simt::divide_up(bytes, 16) * 4; }
};

template <typename Element>
Workspace<Element> divide_workspace(float* workspace, int64_t heads, const RelativeAttentionExtents& extents) {
  const WorkspaceSizes<Element> sizes(heads, extents);
  const ScoreSizes<Element> of_head(extents);
  const auto misplaced = static_cast<int64_t>(reinterpret_cast<uintptr_t>(workspace) % 16 / sizeof(float));
  float* next = workspace + (4 - misplaced) % 4;
  const auto take = [&next](int64_t floats) { return std::exchange(next, next + floats); };
  Workspace<Element> parts{};
  parts.content = reinterpret_cast<Element*>(take(sizes.content));
  parts.position = reinterpret_cast<Element*>(take(sizes.position));
  parts.dscores.by_key = reinterpret_cast<Element*>(take(sizes.scores));
  parts.dscores.by_distance =
      parts.dscores.by_key + of_head.heads_of_run(heads, extents.score_bytes) * of_head.elements;
  parts.dscores.rows = static_cast<int>(of_head.rows);
  parts.dscores.columns = static_cast<int>(of_head.columns);
  parts.delta = take(sizes.delta);
  parts.dr = take(sizes.dr);
  parts.du = take(sizes.du);
  parts.dw = take(sizes.dw);
  parts.by_distance = take(sizes.by_distance);
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

// Keys, queries and distances of all heads, so many at a time.
template <typename Element>
void run_heads(Queue& queue, BackwardArguments<Element> arguments, int64_t heads, int64_t at_once) {
  const int64_t of_run = simt::divide_up(heads, simt::divide_up(heads, at_once));  // none much shorter than another
  for (int64_t first = 0; first < heads; first += of_run) {
    arguments.run = {.first = static_cast<int>(first), .count = static_cast<int>(std::min(of_run, heads - first))};
    launch_keys(queue, arguments);
    launch_queries(queue, arguments);
    if (arguments.in.positions > 0) launch_distances(queue, arguments);
  }
}

template <typename Element>
void run_backward(Queue& queue, const RelativeAttentionBackward& args) {
  AttentionInputs<Element> in = inputs_of<Element>(args.inputs);
  in.vectorised =
      in.vectorised && is_vectorisable(args.inputs.qkv, args.doutput) && is_vectorisable(args.inputs.qkv, args.output);
  const int64_t heads = static_cast<int64_t>(in.streams) * in.heads;
  const RelativeAttentionExtents extents{.tgt_len = in.tgt_len,
                                         .keys = in.keys,
                                         .positions = in.positions,
                                         .biases = by_distance_of(args).empty() ? 0 : in.columns,
                                         .d_head = in.d_head,
                                         .score_bytes = args.score_bytes};
  const BackwardArguments<Element> arguments{
      .in = in,
      .run = {.first = 0, .count = static_cast<int>(heads)},
      .doutput = args.doutput.as<Element>(),
      .output = args.output.as<Element>(),
      .lse = args.lse.as<float>(),
      .dqkv = args.dqkv.as<Element>(),
      .dmemory_kv = args.dmemory_kv.as<Element>(),
      .workspace = divide_workspace<Element>(args.workspace.as<float>(), heads, extents)};
  constexpr int kRowsOfBlock = 4;
  simt::launch(queue.cuda(), "relative_attention_rows",
               {.x = simt::divide_up(in.tgt_len, kRowsOfBlock),
                .y = in.heads,
                .z = in.streams,
                .threads = kRowsOfBlock * simt::kWarp},
               relative_attention_rows_kernel<Element>, arguments);
  run_heads(queue, arguments, heads, ScoreSizes<Element>(extents).heads_of_run(heads, extents.score_bytes));
  if (!by_distance_of(args).empty()) launch_by_distance(queue, arguments);
  run_reduce(queue, args, arguments);
}

}  // namespace

int64_t relative_attention_workspace(const RelativeAttentionExtents& e) {
  int64_t floats = 0;
  simt::with_element(e.activations,
                     [&](auto element) { floats = WorkspaceSizes<decltype(element)>(e.streams * e.heads, e).all(); });
  return floats;
}

void relative_attention_backward(Queue& queue, const RelativeAttentionBackward& args) {
  if (args.inputs.qkv.elements() == 0) return;
  simt::with_element(args.inputs.qkv.dtype, [&](auto element) { run_backward<decltype(element)>(queue, args); });
}

}  // namespace segue::kernels::cuda
