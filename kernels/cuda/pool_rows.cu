// A thread per piece of a pooled row: 16 bytes where rows allow it, otherwise one element.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <typename Element>
struct Groups {
  const Element* x;
  Element* y;
  int64_t groups, size, columns;
};

template <typename Element, int kWidth, Pooling kPooling>
__global__ void pool_rows_kernel(Groups<Element> args) {
  const int64_t at = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (at >= args.groups * args.columns) return;
  const int64_t group = at / args.columns;
  const Element* x = args.x + group * args.size * args.columns + at % args.columns;
  float pooled[kWidth];
  simt::load(x, pooled);
  for (int64_t i = 1; i < args.size; ++i) {
    float row[kWidth];
    simt::load(x + i * args.columns, row);
    for (int k = 0; k < kWidth; ++k) {
      if constexpr (kPooling == Pooling::kMean) {
        pooled[k] += row[k];
      } else {
        pooled[k] = row[k] > pooled[k] || row[k] != row[k] ? row[k] : pooled[k];
      }
    }
  }
  const float divisor = kPooling == Pooling::kMean ? static_cast<float>(args.size) : 1.0F;
  for (int k = 0; k < kWidth; ++k) pooled[k] /= divisor;
  simt::store(args.y + at, pooled);
}

}  // namespace

void pool_rows(Queue& queue, const PoolRows& args) {
  const int64_t columns = args.x.shape[2];
  simt::with_access(args.x.dtype, columns, {args.x, args.y}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "pool_rows",
                 {.x = simt::divide_up(args.y.elements(), kThreads * kWidth), .threads = kThreads},
                 args.pooling == Pooling::kMean ? pool_rows_kernel<Element, kWidth, Pooling::kMean>
                                                : pool_rows_kernel<Element, kWidth, Pooling::kMax>,
                 Groups<Element>{.x = args.x.as<Element>(),
                                 .y = args.y.as<Element>(),
                                 .groups = args.x.shape[0],
                                 .size = args.x.shape[1],
                                 .columns = columns});
  });
}

}  // namespace segue::kernels::cuda
