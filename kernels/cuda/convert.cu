// Four elements to a thread, or one.
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kVector = 4;

template <typename From, typename To>
struct Arguments {
  const From* x;
  To* y;
  bool accumulate;
  float factor;
  int64_t count;
};

template <typename From, typename To, int kWidth>
__global__ void __launch_bounds__(kThreads) convert_kernel(Arguments<From, To> args) {
  const int64_t element = (int64_t{simt::block()} * kThreads + simt::thread()) * kWidth;
  if (element >= args.count) return;
  float x[kWidth];
  float y[kWidth] = {};
  simt::load(args.x + element, x);
  if (args.accumulate) simt::load(args.y + element, y);
  for (int k = 0; k < kWidth; ++k) {
    const float converted = args.factor * x[k];
    y[k] = args.accumulate ? y[k] + converted : converted;
  }
  simt::store(args.y + element, y);
}

template <typename From, typename To, int kWidth>
void launch_of(Queue& queue, const Conversion& args) {
  const int64_t count = args.x.elements();
  simt::launch(queue.cuda(), "convert", {.x = simt::divide_up(count, kThreads * kWidth), .threads = kThreads},
               convert_kernel<From, To, kWidth>,
               Arguments<From, To>{.x = args.x.as<From>(),
                                   .y = args.y.as<To>(),
                                   .accumulate = args.accumulate,
                                   .factor = args.factor,
                                   .count = count});
}

}  // namespace

void convert(Queue& queue, const Conversion& args) {
  // Four floats are 16 bytes, and what is aligned so is aligned for four of less.
  const bool is_vectorised = simt::is_vectorisable(DType::kFloat32, args.x.elements(), {args.x, args.y});
  simt::with_element(args.x.dtype, [&](auto from) {
    simt::with_element(args.y.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      is_vectorised ? launch_of<From, To, kVector>(queue, args) : launch_of<From, To, 1>(queue, args);
    });
  });
}

}  // namespace segue::kernels::cuda
