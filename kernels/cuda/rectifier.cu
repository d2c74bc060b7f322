// 16 bytes to a thread.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <typename Element>
struct Forward {
  const Element* x;
  Element* y;
  int64_t count;
};

template <typename Element, int kWidth>
__global__ void rectifier_forward_kernel(Forward<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  float x[kWidth];
  simt::load(args.x + element, x);
  for (int k = 0; k < kWidth; ++k)  // a comparison that NaN passes
    if (x[k] <= 0.0F) x[k] = 0.0F;
  simt::store(args.y + element, x);
}

template <typename Element>
struct Backward {
  const Element* dy;
  const Element* y;
  Element* dx;
  bool accumulate;
  int64_t count;
};

template <typename Element, int kWidth>
__global__ void rectifier_backward_kernel(Backward<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  float dy[kWidth];
  float y[kWidth];
  float dx[kWidth] = {};
  simt::load(args.dy + element, dy);
  simt::load(args.y + element, y);
  if (args.accumulate) simt::load(args.dx + element, dx);
  for (int k = 0; k < kWidth; ++k) dx[k] += y[k] > 0.0F ? dy[k] : 0.0F;
  simt::store(args.dx + element, dx);
}

}  // namespace

void rectifier_forward(Queue& queue, const RectifierForward& args) {
  const int64_t count = args.x.elements();
  if (count == 0) return;
  simt::with_access(args.x.dtype, count, {args.x, args.y}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "rectifier_forward",
                 {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 rectifier_forward_kernel<Element, kWidth>,
                 Forward<Element>{.x = args.x.as<Element>(), .y = args.y.as<Element>(), .count = count});
  });
}

void rectifier_backward(Queue& queue, const RectifierBackward& args) {
  const int64_t count = args.dy.elements();
  if (count == 0) return;
  simt::with_access(args.dy.dtype, count, {args.dy, args.y, args.dx}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), "rectifier_backward",
                 {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 rectifier_backward_kernel<Element, kWidth>,
                 Backward<Element>{.dy = args.dy.as<Element>(),
                                   .y = args.y.as<Element>(),
                                   .dx = args.dx.as<Element>(),
                                   .accumulate = args.accumulate,
                                   .count = count});
  });
}

}  // namespace segue::kernels::cuda
