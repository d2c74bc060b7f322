// A warp to each row. The sum of weights puts rows at odd places: an element at a time.
#include "kernels/cuda/operations.h"
#include "kernels/cuda/reduce.cuh"

namespace segue::kernels::cuda {

namespace {

struct Divisor {
  float value;
  bool is_floor;

  __device__ __forceinline__ Divisor(float weights, float floor) : value(weights), is_floor(fabsf(weights) < floor) {
    if (is_floor) value = weights < 0.0F ? -floor : floor;
  }
};

template <typename Element>
struct Forward {
  const Element* sums;
  Element* y;
  float floor;
  int64_t rows;
  int64_t columns;  // of y
};

template <typename Element>
__global__ void weighted_average_forward_kernel(Forward<Element> args) {
  const int64_t row = simt::my_row<true>();
  if (row >= args.rows) return;
  const Element* sums = args.sums + row * (args.columns + 1);
  const Divisor divisor(simt::as_float(sums[args.columns]), args.floor);
  for (int64_t h = simt::lane(); h < args.columns; h += simt::kWarp)
    args.y[row * args.columns + h] = static_cast<Element>(simt::as_float(sums[h]) / divisor.value);
}

template <typename Element>
struct Backward {
  const Element* sums;
  const Element* dy;
  Element* dsums;
  float floor;
  int64_t rows;
  int64_t columns;  // of dy
};

template <typename Element>
__global__ void weighted_average_backward_kernel(Backward<Element> args) {
  const int64_t row = simt::my_row<true>();
  if (row >= args.rows) return;
  const Element* sums = args.sums + row * (args.columns + 1);
  const Element* dy = args.dy + row * args.columns;
  Element* dsums = args.dsums + row * (args.columns + 1);
  const Divisor divisor(simt::as_float(sums[args.columns]), args.floor);
  double products = 0.0;  // a double holds the product of any two floats
  for (int64_t h = simt::lane(); h < args.columns; h += simt::kWarp) {
    const float gradient = simt::as_float(dy[h]);
    dsums[h] = static_cast<Element>(gradient / divisor.value);
    products += static_cast<double>(gradient) * static_cast<double>(simt::as_float(sums[h]));
  }
  products = simt::reduce_warp(products, simt::Sum());
  const auto d = static_cast<double>(divisor.value);
  if (simt::lane() == 0)
    dsums[args.columns] = static_cast<Element>(divisor.is_floor ? 0.0F : static_cast<float>(-products / d / d));
}

}  // namespace

void weighted_average_forward(Queue& queue, const WeightedAverageForward& args) {
  simt::with_element(args.y.dtype, [&](auto element) {
    using Element = decltype(element);
    simt::launch(queue.cuda(), "weighted_average_forward", simt::launch_of_warp_rows(args.y.shape[0]),
                 weighted_average_forward_kernel<Element>,
                 Forward<Element>{.sums = args.sums.as<Element>(),
                                  .y = args.y.as<Element>(),
                                  .floor = args.floor,
                                  .rows = args.y.shape[0],
                                  .columns = args.y.shape[1]});
  });
}

void weighted_average_backward(Queue& queue, const WeightedAverageBackward& args) {
  simt::with_element(args.dy.dtype, [&](auto element) {
    using Element = decltype(element);
    simt::launch(queue.cuda(), "weighted_average_backward", simt::launch_of_warp_rows(args.dy.shape[0]),
                 weighted_average_backward_kernel<Element>,
                 Backward<Element>{.sums = args.sums.as<Element>(),
                                   .dy = args.dy.as<Element>(),
                                   .dsums = args.dsums.as<Element>(),
                                   .floor = args.floor,
                                   .rows = args.dy.shape[0],
                                   .columns = args.dy.shape[1]});
  });
}

}  // namespace segue::kernels::cuda
