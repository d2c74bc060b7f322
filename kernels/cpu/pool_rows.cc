// Group by group, in pieces of a row that stay in registers and the first-level cache.
#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kPiece = 512;

// y[d] of `count` elements for `size` rows that lie `pitch` apart.
template <typename A, Pooling kPooling>
void pool(const A* x, int64_t pitch, int64_t size, int64_t count, A* y) {
  std::array<float, kPiece> pooled;
  for (int64_t d = 0; d < count; ++d) pooled[d] = load(x + d);
  for (int64_t i = 1; i < size; ++i) {
    const A* row = x + i * pitch;
    for (int64_t d = 0; d < count; ++d) {
      const float value = load(row + d);
      if constexpr (kPooling == Pooling::kMean) {
        pooled[d] += value;
      } else {
        pooled[d] = value > pooled[d] || std::isnan(value) ? value : pooled[d];
      }
    }
  }
  const float divisor = kPooling == Pooling::kMean ? static_cast<float>(size) : 1.0F;
  for (int64_t d = 0; d < count; ++d) store(y + d, pooled[d] / divisor);
}

template <typename A, Pooling kPooling>
void pool_groups(const Queue& queue, const PoolRows& args) {
  const int64_t groups = args.x.shape[0];
  const int64_t size = args.x.shape[1];
  const int64_t columns = args.x.shape[2];
  const A* x = args.x.as<A>();
  A* y = args.y.as<A>();
  const int64_t pieces = (columns + kPiece - 1) / kPiece;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_for(queue, args.x.elements()))
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const int64_t first = piece * kPiece;
      pool<A, kPooling>(x + g * size * columns + first, columns, size, std::min(kPiece, columns - first),
                        y + g * columns + first);
    }
  }
}

}  // namespace

void pool_rows(Queue& queue, const PoolRows& args) {
  with_activations(args.x.dtype, [&]<typename A>() {
    const auto run = args.pooling == Pooling::kMean ? pool_groups<A, Pooling::kMean> : pool_groups<A, Pooling::kMax>;
    run(queue, args);
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
