// A block sums up a stream; backward takes 16 bytes to a thread.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kSumThreads = 1024;

template <typename Element>
struct Forward {
  const Element* a;
  const Element* b;
  float scale;
  float* sums;
  bool accumulate;
  int64_t count;  // elements of a stream
};

template <typename Element, int kWidth>
__global__ void squared_difference_forward_kernel(Forward<Element> args) {
  const int64_t first = simt::block() * args.count;
  float sum = 0.0F;
  for (int64_t e = int64_t{simt::thread()} * kWidth; e < args.count; e += int64_t{kSumThreads} * kWidth) {
    float a[kWidth];
    float b[kWidth];
    simt::load(args.a + first + e, a);
    simt::load(args.b + first + e, b);
    for (int k = 0; k < kWidth; ++k) sum += (b[k] - a[k]) * (b[k] - a[k]);
  }
  sum = args.scale * simt::reduce_block(sum, 0.0F, simt::Sum());
  if (simt::thread() == 0) args.sums[simt::block()] = args.accumulate ? args.sums[simt::block()] + sum : sum;
}

template <typename Element>
struct Backward {
  const Element* a;
  const Element* b;
  float scale;
  Element* db;
  bool accumulate;
  int64_t count;
};

template <typename Element, int kWidth>
__global__ void squared_difference_backward_kernel(Backward<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  float a[kWidth];
  float b[kWidth];
  float db[kWidth] = {};
  simt::load(args.a + element, a);
  simt::load(args.b + element, b);
  if (args.accumulate) simt::load(args.db + element, db);
  for (int k = 0; k < kWidth; ++k) db[k] += args.scale * (b[k] - a[k]);
  simt::store(args.db + element, db);
}

}  // namespace

void squared_difference_forward(Queue& queue, const SquaredDifferenceForward& args) {
  const int64_t count = args.a.shape[1];
  if (args.a.elements() == 0) return;
  simt::with_access(args.a.dtype, count, {args.a, args.b}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "squared_difference_forward", {.x = args.a.shape[0], .threads = kSumThreads},
                 squared_difference_forward_kernel<Element, kWidth>,
                 Forward<Element>{.a = args.a.as<Element>(),
                                  .b = args.b.as<Element>(),
                                  .scale = args.scale,
                                  .sums = args.sums.as<float>(),
                                  .accumulate = args.accumulate,
                                  .count = count});
  });
}

void squared_difference_backward(Queue& queue, const SquaredDifferenceBackward& args) {
  const int64_t count = args.a.elements();
  if (count == 0) return;
  simt::with_access(args.a.dtype, count, {args.a, args.b, args.db}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "squared_difference_backward",
                 {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 squared_difference_backward_kernel<Element, kWidth>,
                 Backward<Element>{.a = args.a.as<Element>(),
                                   .b = args.b.as<Element>(),
                                   .scale = 2.0F * args.scale,
                                   .db = args.db.as<Element>(),
                                   .accumulate = args.accumulate,
                                   .count = count});
  });
}

}  // namespace segue::kernels::cuda
