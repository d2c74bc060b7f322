// Two rows at a time, which are a pair or are copied.
#include <algorithm>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void state_turn(Queue& queue, const TurnedState& args) {
  const Shape& shape = args.from.shape;
  const int64_t states = shape[0] * shape[1];
  const int64_t keys = shape[2], values = shape[3];
  const bool in_place = args.to.data == args.from.data;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads_for(queue, args.from.elements()))
  for (int64_t s = 0; s < states; ++s) {
    for (int64_t row = 0; row < keys; row += 2) {
      const float* even = args.from.as<float>() + (s * keys + row) * values;
      float* to = args.to.as<float>() + (s * keys + row) * values;
      if (row >= args.width) {
        if (!in_place) std::copy_n(even, std::min<int64_t>(2, keys - row) * values, to);
        continue;
      }
      const float* odd = even + values;
      const float cosine = args.angles.cosine[row / 2], sine = args.angles.sine[row / 2];
#pragma omp simd
      for (int64_t c = 0; c < values; ++c) {
        const float x = even[c], y = odd[c];
        to[c] = x * cosine - y * sine;
        to[values + c] = x * sine + y * cosine;
      }
    }
  }
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
