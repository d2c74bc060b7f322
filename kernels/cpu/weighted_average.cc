// Divides row by row.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

struct Divisor {
  float value;
  bool is_floor;

  Divisor(float weights, float floor) : value(weights), is_floor(std::fabs(weights) < floor) {
    if (is_floor) value = weights < 0.0F ? -floor : floor;
  }
};

// In double, which holds the product of any two floats; in an order that is the same at every level of the processor.
template <typename A>
double wide_sum_of_products(const A* a, const A* b, int64_t count) {
  constexpr int64_t kSums = 16;
  std::array<double, kSums> sums{};
  for (int64_t first = 0; first < count; first += kSums) {
#pragma omp simd
    for (int64_t i = 0; i < std::min(kSums, count - first); ++i)
      sums[i] += static_cast<double>(load(a + first + i)) * static_cast<double>(load(b + first + i));
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

void weighted_average_forward(Queue& queue, const WeightedAverageForward& args) {
  const int64_t rows = args.y.shape[0];
  const int64_t width = args.y.shape[1];
  const float floor = args.floor;
  with_activations(args.y.dtype, [&]<typename A>() {
    const A* sums = args.sums.as<A>();
    A* y = args.y.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.sums.elements()))
    for (int64_t row = 0; row < rows; ++row) {
      const A* from = sums + row * (width + 1);
      const Divisor divisor(load(from + width), floor);
      A* to = y + row * width;
#pragma omp simd
      for (int64_t h = 0; h < width; ++h) store(to + h, load(from + h) / divisor.value);
    }
  });
}

void weighted_average_backward(Queue& queue, const WeightedAverageBackward& args) {
  const int64_t rows = args.dy.shape[0];
  const int64_t width = args.dy.shape[1];
  const float floor = args.floor;
  with_activations(args.dy.dtype, [&]<typename A>() {
    const A* sums = args.sums.as<A>();
    const A* dy = args.dy.as<A>();
    A* dsums = args.dsums.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.sums.elements()))
    for (int64_t row = 0; row < rows; ++row) {
      const A* sum = sums + row * (width + 1);
      const A* from = dy + row * width;
      A* to = dsums + row * (width + 1);
      const Divisor divisor(load(sum + width), floor);
#pragma omp simd
      for (int64_t h = 0; h < width; ++h) store(to + h, load(from + h) / divisor.value);
      const auto d = static_cast<double>(divisor.value);
      store(to + width, divisor.is_floor ? 0.0F : static_cast<float>(-wide_sum_of_products(from, sum, width) / d / d));
    }
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
