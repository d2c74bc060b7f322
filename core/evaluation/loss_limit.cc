// kRoom is for noise and for a new model's confidence, which raise a first loss above ln V by some tenths.
#include "core/evaluation/loss_limit.h"

#include <algorithm>
#include <cmath>

namespace segue {

double loss_limit(int64_t vocabulary, double start) {
  constexpr double kRoom = 0.5;
  const double of_start = 2.0 * start + kRoom;
  if (vocabulary <= 0) return of_start;
  return std::min(of_start, 1.1 * std::log(static_cast<double>(vocabulary)) + kRoom);
}

}  // namespace segue
