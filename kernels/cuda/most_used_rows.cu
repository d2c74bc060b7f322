// A thread sums up the usage of a row, one finds how many rows are used more, and a warp copies a row to its place.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 128;

struct UsedRows {
  const float* received;
  const unsigned char* x;
  float* usage;
  int32_t* ranked;  // of each stream the rows of rank 0, 1, ...
  unsigned char* y;
  int heads, rows, kept;
  int64_t bytes;  // of a row

  __device__ __forceinline__ uint32_t usage_of(int row) const {
    return __builtin_bit_cast(uint32_t, usage[int64_t{simt::block_y()} * rows + row]);
  }
};

__global__ void most_used_rows_usage_kernel(UsedRows args) {
  const int row = simt::block() * kThreads + simt::thread();
  if (row >= args.rows) return;
  const float* received = args.received + int64_t{simt::block_y()} * args.heads * args.rows + row;
  float sum = 0.0F;
  for (int n = 0; n < args.heads; ++n) sum += received[int64_t{n} * args.rows];
  args.usage[int64_t{simt::block_y()} * args.rows + row] = sum;
}

__global__ void most_used_rows_rank_kernel(UsedRows args) {
  const int row = simt::block() * kThreads + simt::thread();
  if (row >= args.rows) return;
  const uint32_t own = args.usage_of(row);
  int rank = 0;
  for (int other = 0; other < args.rows; ++other) rank += is_used_more(args.usage_of(other), other, own, row) ? 1 : 0;
  if (rank < args.kept) args.ranked[int64_t{simt::block_y()} * args.kept + rank] = row;
}

// 16 bytes at a time, or 2.
template <typename Piece>
__global__ void most_used_rows_copy_kernel(UsedRows args) {
  const int32_t* ranked = args.ranked + int64_t{simt::block_y()} * args.kept;
  const int row = ranked[simt::block()];
  int place = 0;
  for (int rank = 0; rank < args.kept; ++rank) place += ranked[rank] < row ? 1 : 0;
  const auto* from = reinterpret_cast<const Piece*>(args.x + (int64_t{simt::block_y()} * args.rows + row) * args.bytes);
  auto* to = reinterpret_cast<Piece*>(args.y + (int64_t{simt::block_y()} * args.kept + place) * args.bytes);
  const int64_t pieces = args.bytes / static_cast<int64_t>(sizeof(Piece));
  for (int64_t piece = simt::thread(); piece < pieces; piece += simt::kWarp) to[piece] = from[piece];
}

}  // namespace

void most_used_rows(Queue& queue, const MostUsedRows& args) {
  const Shape& x = args.x.shape;
  const auto streams = static_cast<int>(x[0]);
  const UsedRows rows{.received = args.received.as<float>(),
                      .x = reinterpret_cast<const unsigned char*>(args.x.data),
                      .usage = args.usage.as<float>(),
                      .ranked = args.ranked.as<int32_t>(),
                      .y = reinterpret_cast<unsigned char*>(args.y.data),
                      .heads = static_cast<int>(args.received.shape[1]),
                      .rows = static_cast<int>(x[1]),
                      .kept = static_cast<int>(args.y.shape[1]),
                      .bytes = x[2] * bytes_of(args.x.dtype)};
  const simt::Launch by_row{.x = simt::divide_up(x[1], kThreads), .y = streams, .threads = kThreads};
  simt::launch(queue.cuda(), "most_used_rows_usage", by_row, most_used_rows_usage_kernel, rows);
  simt::launch(queue.cuda(), "most_used_rows_rank", by_row, most_used_rows_rank_kernel, rows);
  const bool in_chunks = simt::is_vectorisable(args.x.dtype, x[2], {args.x, args.y});
  simt::launch(queue.cuda(), "most_used_rows_copy", {.x = rows.kept, .y = streams, .threads = simt::kWarp},
               in_chunks ? most_used_rows_copy_kernel<simt::Packed<uint32_t, 4>> : most_used_rows_copy_kernel<uint16_t>,
               rows);
}

}  // namespace segue::kernels::cuda
