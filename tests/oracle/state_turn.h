// Keys of a state, turned, straight from the formula.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace segue::oracle {

// Of states [keys, values], one after the other.
struct StateTurn {
  int64_t keys, values;
  int64_t position, width;
  double base;
  double scaling = 1.0;
};

template <typename Scalar>
std::vector<Scalar> state_turn(std::vector<Scalar> states, const StateTurn& turn) {
  for (int64_t row = 0; row < static_cast<int64_t>(states.size()) / turn.values; ++row) {
    const int64_t key = row % turn.keys;
    if (key % 2 == 1 || key >= turn.width) continue;
    const long double exponent = -static_cast<long double>(key) / static_cast<long double>(turn.width);
    const long double angle = static_cast<long double>(turn.position) / static_cast<long double>(turn.scaling) *
                              std::pow(static_cast<long double>(turn.base), exponent);
    const auto cosine = static_cast<double>(std::cos(angle));
    const auto sine = static_cast<double>(std::sin(angle));
    for (int64_t c = 0; c < turn.values; ++c) {
      Scalar& even = states[row * turn.values + c];
      Scalar& odd = states[(row + 1) * turn.values + c];
      const Scalar before = even;
      even = before * cosine - odd * sine;
      odd = before * sine + odd * cosine;
    }
  }
  return states;
}

}  // namespace segue::oracle
