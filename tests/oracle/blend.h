// Shares of two sources and their gradients, from the formulas.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace segue::oracle {

// a, b [R, N, width], logits [N]
template <typename Scalar>
std::vector<Scalar> blend(size_t width, const std::vector<Scalar>& a, const std::vector<Scalar>& b,
                          const std::vector<Scalar>& logits) {
  std::vector<Scalar> y;
  for (size_t e = 0; e < a.size(); ++e) {
    const Scalar share = 1.0 / (1.0 + std::exp(-logits[e / width % logits.size()]));
    y.push_back(share * a[e] + (1.0 - share) * b[e]);
  }
  return y;
}

struct BlendGradients {
  std::vector<double> a, b, logits;
};
inline BlendGradients blend_gradients(size_t width, const std::vector<double>& a, const std::vector<double>& b,
                                      const std::vector<double>& logits, const std::vector<double>& dy) {
  BlendGradients to{.a = {}, .b = {}, .logits = std::vector<double>(logits.size())};
  for (size_t e = 0; e < a.size(); ++e) {
    const size_t n = e / width % logits.size();
    const double share = 1.0 / (1.0 + std::exp(-logits[n]));
    to.a.push_back(share * dy[e]);
    to.b.push_back((1.0 - share) * dy[e]);
    to.logits[n] += share * (1.0 - share) * dy[e] * (a[e] - b[e]);
  }
  return to;
}

}  // namespace segue::oracle
