// The angles of a position once, for the rows of all streams that stand there.
#include <algorithm>

#include "kernels/cpu/activation.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/parallel.h"
#include "kernels/rotary_scalars.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

namespace {

template <typename A>
void turn_vector(const A* from, A* to, const RotaryAngles& angles, int64_t width) {
#pragma omp simd
  for (int64_t j = 0; j < width / 2; ++j) {
    const float even = load(from + 2 * j);
    const float odd = load(from + 2 * j + 1);
    store(to + 2 * j, even * angles.cosine[j] - odd * angles.sine[j]);
    store(to + 2 * j + 1, even * angles.sine[j] + odd * angles.cosine[j]);
  }
}

template <typename A>
void turn_rows(const Queue& queue, const RotaryRows& rows) {
  const Shape& shape = rows.from.shape;
  const int64_t head = shape[3];
  const int64_t row = shape[2] * head;
  const int64_t width = rows.turn.width;
  const bool in_place = rows.to.data == rows.from.data;
#pragma omp parallel for schedule(static) num_threads(threads_for(queue, rows.from.elements()))
  for (int64_t i = 0; i < shape[1]; ++i) {
    RotaryAngles angles = angles_at(static_cast<double>(rows.turn.first_position + i), rows.frequencies, width);
    for (float& sine : angles.sine) sine *= rows.direction;
    for (int64_t b = 0; b < shape[0]; ++b) {
      const A* from = rows.from.as<A>() + (b * shape[1] + i) * row;
      A* to = rows.to.as<A>() + (b * shape[1] + i) * row;
      if (!in_place) std::copy_n(from, row, to);
      for (int64_t g = 0; g < rows.turn.heads; ++g) turn_vector(from + g * head, to + g * head, angles, width);
    }
  }
}

}  // namespace

void rotary(Queue& queue, const RotaryRows& rows) {
  with_activations(rows.from.dtype, [&]<typename A>() { turn_rows<A>(queue, rows); });
}

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
