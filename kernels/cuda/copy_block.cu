// A thread per piece of a row: 16 bytes where rows allow it, otherwise one element.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <typename Element>
struct Blocks {
  const Element* from;  // the first element of the first stream's block
  Element* to;
  int64_t from_stream, from_row;  // from one to the next, in elements
  int64_t to_stream, to_row;
  int64_t rows, columns;
  bool accumulate;
};

template <typename Element, int kWidth>
__global__ void copy_block_kernel(Blocks<Element> args) {
  const int64_t piece = int64_t{simt::block()} * kThreads + simt::thread();
  const int64_t pieces_of_row = args.columns / kWidth;
  if (piece >= args.rows * pieces_of_row) return;
  const int64_t row = piece / pieces_of_row;
  const int64_t column = piece % pieces_of_row * kWidth;
  const int64_t b = simt::block_y();
  float values[kWidth];
  simt::load<kWidth>(args.from + b * args.from_stream + row * args.from_row + column, values);
  Element* to = args.to + b * args.to_stream + row * args.to_row + column;
  if (args.accumulate) {
    float before[kWidth];
    simt::load<kWidth>(to, before);
    for (int i = 0; i < kWidth; ++i) values[i] += before[i];
  }
  simt::store<kWidth>(to, values);
}

template <typename Element>
Blocks<Element> blocks_of(const CopyBlock& args) {
  const Shape& from = args.from.shape;
  const Shape& to = args.to.shape;
  return {.from = args.from.as<Element>() + args.from_row * from[2] + args.from_column,
          .to = args.to.as<Element>() + args.to_row * to[2] + args.to_column,
          .from_stream = from[1] * from[2],
          .from_row = from[2],
          .to_stream = to[1] * to[2],
          .to_row = to[2],
          .rows = args.rows,
          .columns = args.columns,
          .accumulate = args.accumulate};
}

// Every row of both blocks begins at a multiple of 16 bytes.
bool is_aligned(const CopyBlock& args) {
  const int64_t width = 16 / bytes_of(args.from.dtype);
  return (args.from_column | args.to_column | args.from.shape[2] | args.to.shape[2]) % width == 0 &&
         simt::is_vectorisable(args.from.dtype, args.columns, {args.from, args.to});
}

}  // namespace

void copy_block(Queue& queue, const CopyBlock& args) {
  simt::with_element(args.from.dtype, [&](auto element) {
    using Element = decltype(element);
    simt::with_width<Element>(is_aligned(args), [&](auto access) {
      constexpr int kWidth = decltype(access)::kWidth;
      const int64_t blocks = simt::divide_up(args.rows * (args.columns / kWidth), kThreads);
      simt::launch(queue.cuda(), "copy_block",
                   {.x = blocks, .y = static_cast<int>(args.from.shape[0]), .threads = kThreads},
                   copy_block_kernel<Element, kWidth>, blocks_of<Element>(args));
    });
  });
}

}  // namespace segue::kernels::cuda
