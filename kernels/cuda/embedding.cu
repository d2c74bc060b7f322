// A warp to each row of the forward. Backward: the rows are sorted by token, equal tokens in their order; blocks sum
// chunks of the sorted rows, and what a token has in chunks after its first is added in a second pass. No two blocks
// add to the same row of the table at a time, so the order of a sum depends on the tokens alone.
#include <algorithm>

#include "kernels/cuda/dropout_mask.cuh"
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kRankThreads = 128;
constexpr int kThreadsOfRank = 8;  // each looks at every eighth of the other rows
constexpr int kMaxColumnThreads = 256;
constexpr int64_t kLeastChunk = 32;

template <typename Element>
struct ForwardArguments {
  const int32_t* tokens;
  TokenRange range;
  const Element* table;
  float scale;
  simt::DropoutMask mask;
  Element* y;
  int64_t rows;
  int64_t columns;
};

template <typename Element, int kWidth>
__global__ void embedding_forward_kernel(ForwardArguments<Element> args) {
  const int64_t row = simt::my_row<true>();
  if (row >= args.rows) return;
  const int32_t token = args.tokens[row];
  const bool held = args.range.holds(token);
  const Element* from = args.table + (held ? args.range.row(token) : 0) * args.columns;
  for (int64_t column = simt::lane() * kWidth; column < args.columns; column += simt::kWarp * kWidth) {
    float values[kWidth] = {};
    if (held) {
      float mask[kWidth];
      simt::load(from + column, values);
      args.mask.multipliers(row * args.columns + column, mask);
      for (int k = 0; k < kWidth; ++k) values[k] *= args.scale * mask[k];
    }
    simt::store(args.y + row * args.columns + column, values);
  }
}

struct RankArguments {
  const int32_t* tokens;
  int rows;
  int32_t* order;
};

// order[rank of row i] = i. The rank is counted: rows with smaller tokens, and earlier rows with the same.
__global__ void embedding_rank_kernel(RankArguments args) {
  auto& others = simt::static_shared<int32_t[kRankThreads], 0>();
  const int row = (simt::block() * kRankThreads + simt::thread()) / kThreadsOfRank;
  const int part = simt::thread() % kThreadsOfRank;
  const int32_t token = row < args.rows ? args.tokens[row] : 0;
  int place = 0;
  for (int first = 0; first < args.rows; first += kRankThreads) {
    simt::sync_block();
    if (first + simt::thread() < args.rows) others[simt::thread()] = args.tokens[first + simt::thread()];
    simt::sync_block();
    const int count = args.rows - first < kRankThreads ? args.rows - first : kRankThreads;
    for (int k = part; k < count; k += kThreadsOfRank)
      place += others[k] < token || (others[k] == token && first + k < row) ? 1 : 0;
  }
  for (int mask = 1; mask < kThreadsOfRank; mask *= 2) place += simt::shuffle_xor(place, mask);
  if (row < args.rows && part == 0) args.order[place] = row;
}

template <typename Element>
struct BackwardArguments {
  const int32_t* tokens;
  TokenRange range;
  const int32_t* order;  // rows by token
  const Element* dy;
  float scale;
  simt::DropoutMask mask;
  float* dtable;
  float* continued;  // [chunks, columns]: what a chunk has of the token that the chunk before ended with
  int64_t rows;
  int64_t columns;
  int64_t chunk;  // sorted rows of a block

  __device__ __forceinline__ int32_t token(int64_t place) const { return tokens[order[place]]; }
  // Whether the sorted row and the one before have the same token.
  __device__ __forceinline__ bool continues(int64_t place) const {
    return place > 0 && place < rows && token(place) == token(place - 1);
  }
};

template <int kWidth>
__device__ __forceinline__ void add_to(float* to, const float (&terms)[kWidth]) {
  float sums[kWidth];
  simt::load(to, sums);
  for (int k = 0; k < kWidth; ++k) sums[k] += terms[k];
  simt::store(to, sums);
}

// dtable[token] += the sums; nothing for a token without a row in it.
template <typename Element, int kWidth>
__device__ __forceinline__ void add_to_table(const BackwardArguments<Element>& args, int32_t token, int64_t column,
                                             const float (&sums)[kWidth]) {
  if (args.range.holds(token)) add_to(args.dtable + args.range.row(token) * args.columns + column, sums);
}

// The chunk's rows of each token, summed; the first run goes to `continued` when it began in the chunk before.
template <typename Element, int kWidth>
__global__ void embedding_chunks_kernel(BackwardArguments<Element> args) {
  const int64_t begin = simt::block() * args.chunk;
  const int64_t end = begin + args.chunk < args.rows ? begin + args.chunk : args.rows;
  for (int64_t column = simt::thread() * kWidth; column < args.columns; column += simt::block_threads() * kWidth) {
    const auto finish = [&](int64_t place, float(&sums)[kWidth]) {  // the run that ends before this place
      const int64_t last = place - 1;
      if (args.continues(begin) && args.token(last) == args.token(begin)) {
        simt::store(args.continued + simt::block() * args.columns + column, sums);
      } else {
        add_to_table(args, args.token(last), column, sums);
      }
      for (int k = 0; k < kWidth; ++k) sums[k] = 0.0F;
    };
    float sums[kWidth] = {};
    for (int64_t place = begin; place < end; ++place) {
      if (place > begin && !args.continues(place)) finish(place, sums);
      if (!args.range.holds(args.token(place))) continue;
      const int64_t element = args.order[place] * args.columns + column;
      float gradient[kWidth];
      float mask[kWidth];
      simt::load(args.dy + element, gradient);
      args.mask.multipliers(element, mask);
      for (int k = 0; k < kWidth; ++k) sums[k] += args.scale * mask[k] * gradient[k];
    }
    finish(end, sums);
  }
}

// For the token that a chunk ends with, if it began there: what the chunks after have of it.
template <typename Element, int kWidth>
__global__ void embedding_continued_kernel(BackwardArguments<Element> args) {
  const int64_t begin = simt::block() * args.chunk;
  const int64_t next = begin + args.chunk;
  if (!args.continues(next)) return;
  const int32_t token = args.token(next);
  if (args.continues(begin) && args.token(begin) == token) return;  // an earlier chunk adds it
  for (int64_t column = simt::thread() * kWidth; column < args.columns; column += simt::block_threads() * kWidth) {
    float sums[kWidth] = {};
    for (int64_t first = next; args.continues(first) && args.token(first) == token; first += args.chunk) {
      float part[kWidth];
      simt::load(args.continued + first / args.chunk * args.columns + column, part);
      for (int k = 0; k < kWidth; ++k) sums[k] += part[k];
    }
    add_to_table(args, token, column, sums);
  }
}

// Where the backward keeps what it needs in the queue's scratch.
struct Workspace {
  int64_t chunk;
  int64_t chunks;
  float* continued;
  int32_t* order;
};

// Chunks as short as the scratch allows: more of them run at a time.
Workspace workspace_for(segue::cuda::Queue& queue, int64_t rows, int64_t columns) {
  const int64_t order_bytes = rows * static_cast<int64_t>(sizeof(int32_t));
  const int64_t row_bytes = columns * static_cast<int64_t>(sizeof(float));
  const int64_t free_rows =
      std::max<int64_t>(1, (segue::cuda::Queue::kScratchBytes - order_bytes) / std::max<int64_t>(1, row_bytes));
  const int64_t chunk = std::max(kLeastChunk, simt::divide_up(rows, free_rows));
  const int64_t chunks = simt::divide_up(rows, chunk);
  auto* continued = static_cast<float*>(queue.scratch(chunks * row_bytes + order_bytes));
  return {.chunk = chunk,
          .chunks = chunks,
          .continued = continued,
          .order = reinterpret_cast<int32_t*>(continued + chunks * columns)};
}

}  // namespace

void embedding_forward(Queue& queue, const EmbeddingForward& args) {
  const int64_t columns = args.table.shape[1];
  if (args.y.elements() == 0) return;
  simt::with_access(args.y.dtype, columns, {args.table, args.y}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "embedding_forward", simt::launch_of_warp_rows(args.y.shape[0]),
                 embedding_forward_kernel<Element, kWidth>,
                 ForwardArguments<Element>{.tokens = args.tokens.as<int32_t>(),
                                           .range = {args.first_token, args.table.shape[0]},
                                           .table = args.table.as<Element>(),
                                           .scale = args.scale,
                                           .mask = simt::mask_of(args.dropout),
                                           .y = args.y.as<Element>(),
                                           .rows = args.y.shape[0],
                                           .columns = columns});
  });
}

void embedding_backward(Queue& queue, const EmbeddingBackward& args) {
  const int64_t rows = args.dy.shape[0];
  const int64_t columns = args.dy.shape[1];
  if (args.dy.elements() == 0) return;
  const auto* tokens = args.tokens.as<int32_t>();
  const Workspace workspace = workspace_for(queue.cuda(), rows, columns);
  simt::launch(queue.cuda(), "embedding_rank",
               {.x = simt::divide_up(rows * kThreadsOfRank, kRankThreads), .threads = kRankThreads},
               embedding_rank_kernel,
               RankArguments{.tokens = tokens, .rows = static_cast<int>(rows), .order = workspace.order});
  simt::with_access(args.dy.dtype, columns, {args.dy, args.dtable}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    const BackwardArguments<Element> arguments{.tokens = tokens,
                                               .range = {args.first_token, args.dtable.shape[0]},
                                               .order = workspace.order,
                                               .dy = args.dy.as<Element>(),
                                               .scale = args.scale,
                                               .mask = simt::mask_of(args.dropout),
                                               .dtable = args.dtable.as<float>(),
                                               .continued = workspace.continued,
                                               .rows = rows,
                                               .columns = columns,
                                               .chunk = workspace.chunk};
    const int64_t warps = simt::divide_up(columns, simt::kWarp * kWidth);
    const simt::Launch shape{.x = workspace.chunks,
                             .threads = static_cast<int>(std::min<int64_t>(warps * simt::kWarp, kMaxColumnThreads))};
    simt::launch(queue.cuda(), "embedding_chunks", shape, embedding_chunks_kernel<Element, kWidth>, arguments);
    simt::launch(queue.cuda(), "embedding_continued", shape, embedding_continued_kernel<Element, kWidth>, arguments);
  });
}

}  // namespace segue::kernels::cuda
