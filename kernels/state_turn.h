// The keys of a state, turned as rotary positions turn them (kernels/rotary.h), so that the next segment, whose first
// token stands at position 0 again, finds them as far away as they are.
//
// Of every stream and head, with S its state [K, V], for every pair j < width / 2 of rows, with the angle
// a = position / scaling * base^(-2j / width):
//
//   S[2j]     <- S[2j] cos(a) - S[2j + 1] sin(a)
//   S[2j + 1] <- S[2j] sin(a) + S[2j + 1] cos(a)
//
// Rows from `width` on are copied. The gradient of a turn is the turn by -position. Angles are reduced in float64, as
// those of rotary positions are. Deterministic.
#pragma once

#include <cstdint>

#include "base/tensor.h"
#include "kernels/queue.h"

namespace segue::kernels {

struct StateTurn {
  ConstTensorView from;  // [B, N, K, V] float32 in
  int64_t position = 0;
  int64_t width = 0;  // rows that are turned: an even number of the first ones, at most kMaxRotaryWidth
  double base = 10000.0;
  double scaling = 1.0;
  TensorView to;  // [B, N, K, V] float32 out; may be `from` itself
};
void state_turn(Queue& queue, const StateTurn& args);

}  // namespace segue::kernels
