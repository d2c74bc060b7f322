// Rotary positions, straight from the formula.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace segue::oracle {

// Of rows [R, G, H] of one stream: the first `heads` vectors of each are turned, in their first `width` columns.
struct RotaryRows {
  int64_t vectors, head;  // G, H
  int64_t heads, width;
  double base;
  int64_t first_position;
  double scaling = 1.0;
};

// With `direction` -1 by the opposite angles, which is what gradients are turned by.
template <typename Scalar>
std::vector<Scalar> rotary(std::vector<Scalar> x, const RotaryRows& rows, int direction = 1) {
  const int64_t row = rows.vectors * rows.head;
  for (int64_t first = 0; first < static_cast<int64_t>(x.size()); first += row) {
    const long double position =
        static_cast<long double>(rows.first_position + first / row) / static_cast<long double>(rows.scaling);
    for (int64_t g = 0; g < rows.heads; ++g) {
      for (int64_t c = 0; c + 1 < rows.width; c += 2) {
        const long double exponent = -static_cast<long double>(c) / static_cast<long double>(rows.width);
        const long double angle = direction * position * std::pow(static_cast<long double>(rows.base), exponent);
        const auto cosine = static_cast<double>(std::cos(angle));
        const auto sine = static_cast<double>(std::sin(angle));
        Scalar& even = x[first + g * rows.head + c];
        Scalar& odd = x[first + g * rows.head + c + 1];
        const Scalar before = even;
        even = before * cosine - odd * sine;
        odd = before * sine + odd * cosine;
      }
    }
  }
  return x;
}

}  // namespace segue::oracle
