// Row by row forward; backward a head's columns of a slab of rows at a time, whose sums are added in the slabs' order.
#include <algorithm>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_sums.h"
#include "kernels/cpu/vector_math.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

constexpr int64_t kSlabRows = 128;

// Returns the sum of dy (a - b) over `width` columns.
template <typename A>
float backward_row(const BlendBackward& args, int64_t first, int64_t width, float share, float rest) {
  const A *a = args.a.as<A>() + first, *b = args.b.as<A>() + first, *dy = args.dy.as<A>() + first;
  A *da = args.da.as<A>() + first, *db = args.db.as<A>() + first;
#pragma omp simd
  for (int64_t h = 0; h < width; ++h) {
    const float arrived = load(dy + h);
    store(da + h, share * arrived);
    store(db + h, rest * arrived);
  }
  return sums_over<1>(width, [=](const auto& read, const auto& add) { add(0, read(dy) * (read(a) - read(b))); })[0];
}

}  // namespace

void blend_forward(Queue& queue, const BlendForward& args) {
  const Shape& shape = args.a.shape;
  const int64_t rows = shape[0], heads = shape[1], width = shape[2];
  const float* logits = args.logits.as<float>();
  with_activations(args.a.dtype, [&]<typename A>() {
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, args.a.elements()))
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t n = 0; n < heads; ++n) {
        const int64_t first = (row * heads + n) * width;
        const A *a = args.a.as<A>() + first, *b = args.b.as<A>() + first;
        A* y = args.y.as<A>() + first;
        const float share = sigmoid(logits[n]);
#pragma omp simd
        for (int64_t h = 0; h < width; ++h) {
          const float other = load(b + h);
          store(y + h, other + share * (load(a + h) - other));
        }
      }
    }
  });
}

void blend_backward(Queue& queue, const BlendBackward& args) {
  const Shape& shape = args.a.shape;
  const int64_t rows = shape[0], heads = shape[1], width = shape[2];
  const int64_t slabs = (rows + kSlabRows - 1) / kSlabRows;
  const float* logits = args.logits.as<float>();
  float* dlogits = args.dlogits.as<float>();
  with_activations(args.a.dtype, [&]<typename A>() {
#pragma omp parallel for ordered schedule(static, 1) num_threads(threads_for(queue, args.a.elements()))
    for (int64_t piece = 0; piece < slabs * heads; ++piece) {
      const int64_t n = piece % heads, begin = piece / heads * kSlabRows;
      const float share = sigmoid(logits[n]), rest = sigmoid(-logits[n]);
      float sum = 0.0F;
      for (int64_t row = begin; row < std::min(rows, begin + kSlabRows); ++row)
        sum += backward_row<A>(args, (row * heads + n) * width, width, share, rest);
#pragma omp ordered
      dlogits[n] += share * rest * sum;
    }
  });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
