// Sums of pieces in float32, sums of these in double: a stream belongs to one thread.
#include <algorithm>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 4096;

template <typename A>
double distance(const A* a, const A* b, int64_t count) {
  double total = 0.0;
  for (int64_t first = 0; first < count; first += kPiece) {
    const A* left = a + first;
    const A* right = b + first;
    total += static_cast<double>(sums_over<1>(std::min(kPiece, count - first), [&](const auto& read, const auto& add) {
      const auto difference = read(right) - read(left);
      add(0, difference * difference);
    })[0]);
  }
  return total;
}

}  // namespace

void squared_difference_forward(Queue& queue, const SquaredDifferenceForward& args) {
  const int64_t streams = args.a.shape[0];
  const int64_t count = args.a.shape[1];
  float* sums = args.sums.as<float>();
  with_activations(args.a.dtype, [&]<typename A>() {
    const A* a = args.a.as<A>();
    const A* b = args.b.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.a.elements()))
    for (int64_t s = 0; s < streams; ++s) {
      const auto sum =
          static_cast<float>(static_cast<double>(args.scale) * distance(a + s * count, b + s * count, count));
      sums[s] = args.accumulate ? sums[s] + sum : sum;
    }
  });
}

void squared_difference_backward(Queue& queue, const SquaredDifferenceBackward& args) {
  const int64_t count = args.a.elements();
  const float scale = 2.0F * args.scale;
  with_activations(args.a.dtype, [&]<typename A>() {
    const A* a = args.a.as<A>();
    const A* b = args.b.as<A>();
    A* db = args.db.as<A>();
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, count))
    for (int64_t e = 0; e < count; ++e) {
      const float gradient = scale * (load(b + e) - load(a + e));
      store(db + e, args.accumulate ? load(db + e) + gradient : gradient);
    }
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
