// Squared differences summed up stream by stream, and their gradient.
#pragma once

#include <cstdint>
#include <vector>

namespace segue::oracle {

// a and b [S, E] -> [S]
template <typename Scalar>
std::vector<Scalar> squared_difference(const std::vector<double>& a, const std::vector<Scalar>& b, double scale,
                                       int64_t streams) {
  const auto count = static_cast<int64_t>(a.size()) / streams;
  std::vector<Scalar> sums(streams);
  for (int64_t s = 0; s < streams; ++s) {
    for (int64_t e = 0; e < count; ++e) {
      const Scalar difference = b[s * count + e] - a[s * count + e];
      sums[s] += scale * difference * difference;
    }
  }
  return sums;
}

// Of the sum over streams, with respect to b.
inline std::vector<double> squared_difference_gradient(const std::vector<double>& a, const std::vector<double>& b,
                                                       double scale) {
  std::vector<double> gradient;
  for (size_t e = 0; e < a.size(); ++e) gradient.push_back(2.0 * scale * (b[e] - a[e]));
  return gradient;
}

}  // namespace segue::oracle
