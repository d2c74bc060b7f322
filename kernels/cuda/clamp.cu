// 16 bytes to a thread.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <typename Element>
struct Arguments {
  Element* x;
  float lowest, highest;
  int64_t count;
};

template <typename Element, int kWidth>
__global__ void clamp_kernel(Arguments<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  float x[kWidth];
  simt::load(args.x + element, x);
  for (int k = 0; k < kWidth; ++k) {  // comparisons, which NaN passes, other than fmin and fmax
    if (x[k] < args.lowest) x[k] = args.lowest;
    if (x[k] > args.highest) x[k] = args.highest;
  }
  simt::store(args.x + element, x);
}

}  // namespace

void clamp(Queue& queue, const Clamp& args) {
  const int64_t count = args.x.elements();
  if (count == 0) return;
  simt::with_access(args.x.dtype, count, {args.x}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(
        queue.cuda(), "clamp", {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
        clamp_kernel<Element, kWidth>,
        Arguments<Element>{.x = args.x.as<Element>(), .lowest = args.lowest, .highest = args.highest, .count = count});
  });
}

}  // namespace segue::kernels::cuda
