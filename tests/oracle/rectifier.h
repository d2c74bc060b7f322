// max(0, x), and its gradient.
#pragma once

#include <complex>
#include <vector>

namespace segue::oracle {

template <typename Scalar>
std::vector<Scalar> rectified(std::vector<Scalar> x) {
  for (Scalar& element : x)
    if (std::real(element) <= 0.0) element = 0.0;
  return x;
}

// `before` is what a gradient that is added to holds.
inline std::vector<double> rectifier_gradient(const std::vector<double>& x, const std::vector<double>& dy,
                                              std::vector<double> before) {
  for (size_t e = 0; e < x.size(); ++e) before[e] += x[e] > 0.0 ? dy[e] : 0.0;
  return before;
}

}  // namespace segue::oracle
