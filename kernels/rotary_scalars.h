// The device's input from kernels/rotary.cc: both directions are one turn of rows, whose angles are derived here for
// all devices alike.
#pragma once

#include <array>

#include "kernels/rotary.h"

namespace segue::kernels {

constexpr double kFullTurn = 6.283185307179586476925;

// Of each pair of columns: by how many full turns a position is ahead of the one before it.
using RotaryFrequencies = std::array<double, kMaxRotaryWidth / 2>;

struct RotaryRows {
  ConstTensorView from;  // [B, R, G, H]
  TensorView to;         // [B, R, G, H], or `from`
  RotaryTurn turn;
  float direction;  // 1, or -1 backward
  RotaryFrequencies frequencies;
};

}  // namespace segue::kernels
