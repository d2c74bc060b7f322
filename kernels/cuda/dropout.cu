// 16 bytes to a thread, and the random words of their elements.
#include "kernels/cuda/dropout_mask.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <typename Element>
struct Arguments {
  const Element* from;
  Element* to;
  simt::DropoutMask mask;
  bool accumulate;
  int64_t count;
};

template <typename Element, int kWidth>
__global__ void dropout_kernel(Arguments<Element> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  float values[kWidth];
  float out[kWidth] = {};
  float mask[kWidth];
  simt::load(args.from + element, values);
  if (args.accumulate) simt::load(args.to + element, out);
  args.mask.multipliers(element, mask);
  for (int k = 0; k < kWidth; ++k) out[k] += values[k] * mask[k];
  simt::store(args.to + element, out);
}

void multiply(Queue& queue, const char* name, ConstTensorView from, const Dropout& dropout, TensorView to,
              bool accumulate) {
  const int64_t count = from.elements();
  if (count == 0) return;
  simt::with_access(from.dtype, count, {from, to}, [&](auto access) {
    using Element = typename decltype(access)::Element;
    constexpr int kWidth = decltype(access)::kWidth;
    simt::launch(queue.cuda(), name, {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
                 dropout_kernel<Element, kWidth>,
                 Arguments<Element>{.from = from.as<Element>(),
                                    .to = to.as<Element>(),
                                    .mask = simt::mask_of(dropout),
                                    .accumulate = accumulate,
                                    .count = count});
  });
}

}  // namespace

void dropout_forward(Queue& queue, const DropoutForward& args) {
  multiply(queue, "dropout_forward", args.x, args.dropout, args.y, args.accumulate);
}

void dropout_backward(Queue& queue, const DropoutBackward& args) {
  multiply(queue, "dropout_backward", args.dy, args.dropout, args.dx, args.accumulate);
}

}  // namespace segue::kernels::cuda
