// The device's input from kernels/rotary.cc: both directions are one turn of rows, whose frequencies are derived there
// for all devices alike; and the angles at one position, of rows on a CPU and of states (kernels/state_turn.h).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "kernels/rotary.h"

namespace segue::kernels {

class Contract;

constexpr double kFullTurn = 6.283185307179586476925;

// Of each pair of columns: by how many full turns a position is ahead of the one before it.
using RotaryFrequencies = std::array<double, kMaxRotaryWidth / 2>;
RotaryFrequencies frequencies_of(const RotaryTurn& turn);

// Of a turn of vectors with so many columns, whose first position bears this name: all but `heads`.
void check_angles(const Contract& contract, const RotaryTurn& turn, int64_t columns, std::string_view position);

// Of each pair of columns.
struct RotaryAngles {
  std::array<float, kMaxRotaryWidth / 2> cosine, sine;
};
inline RotaryAngles angles_at(double position, const RotaryFrequencies& frequencies, int64_t width) {
  RotaryAngles angles;
  for (size_t j = 0; j < static_cast<size_t>(width / 2); ++j) {
    const double turns = position * frequencies[j];
    const double lost = std::fma(position, frequencies[j], -turns);  // to rounding
    const double angle = kFullTurn * (turns - std::nearbyint(turns) + lost);
    angles.cosine[j] = static_cast<float>(std::cos(angle));
    angles.sine[j] = static_cast<float>(std::sin(angle));
  }
  return angles;
}

struct RotaryRows {
  ConstTensorView from;  // [B, R, G, H]
  TensorView to;         // [B, R, G, H], or `from`
  RotaryTurn turn;
  float direction;  // 1, or -1 backward
  RotaryFrequencies frequencies;
};

}  // namespace segue::kernels
