// Sums divided by their weights, and the gradients, from the formulas.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/oracle/head_norm.h"

namespace segue::oracle {

inline bool is_below(double floor, double weights) { return std::abs(weights) < floor; }

// sums [R, width + 1] -> [R, width]
template <typename Scalar>
std::vector<Scalar> weighted_average(const std::vector<Scalar>& sums, size_t width, double floor) {
  std::vector<Scalar> y;
  for (size_t first = 0; first < sums.size(); first += width + 1) {
    Scalar divisor = sums[first + width];
    const double weights = real_part(divisor);
    if (is_below(floor, weights)) divisor = weights < 0.0 ? -floor : floor;
    for (size_t h = 0; h < width; ++h) y.push_back(sums[first + h] / divisor);
  }
  return y;
}

// [R, width + 1]
inline std::vector<double> weighted_average_gradient(const std::vector<double>& sums, size_t width, double floor,
                                                     const std::vector<double>& dy) {
  std::vector<double> dsums;
  for (size_t first = 0, from = 0; first < sums.size(); first += width + 1, from += width) {
    const double weights = sums[first + width];
    const double divisor = !is_below(floor, weights) ? weights : weights < 0.0 ? -floor : floor;
    double products = 0.0;
    for (size_t h = 0; h < width; ++h) {
      dsums.push_back(dy[from + h] / divisor);
      products += dy[from + h] * sums[first + h];
    }
    dsums.push_back(is_below(floor, weights) ? 0.0 : -products / (weights * weights));
  }
  return dsums;
}

}  // namespace segue::oracle
