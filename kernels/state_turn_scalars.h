// The device's input from kernels/state_turn.cc: the angles of its one position, derived there for all devices alike.
#pragma once

#include "kernels/rotary_scalars.h"
#include "kernels/state_turn.h"

namespace segue::kernels {

struct TurnedState {
  ConstTensorView from;  // [B, N, K, V]
  TensorView to;         // [B, N, K, V], or `from`
  int64_t width;
  RotaryAngles angles;  // of each pair of rows
};

}  // namespace segue::kernels
