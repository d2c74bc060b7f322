// Softmax cross-entropy and its gradient, straight from the formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

namespace segue::oracle {

template <typename Scalar>
struct CrossEntropy {
  std::vector<Scalar> nll, lse;
};

// logits [R, V] with the bias in them.
template <typename Scalar>
CrossEntropy<Scalar> cross_entropy(const std::vector<Scalar>& logits, const std::vector<int32_t>& targets) {
  using std::exp, std::log, std::real;
  const size_t classes = logits.size() / targets.size();
  CrossEntropy<Scalar> out;
  for (size_t row = 0; row < targets.size(); ++row) {
    const Scalar* z = logits.data() + row * classes;
    double largest = real(z[0]);
    for (size_t c = 1; c < classes; ++c) largest = std::max(largest, real(z[c]));
    Scalar sum = 0.0;
    for (size_t c = 0; c < classes; ++c) sum += exp(z[c] - largest);
    out.lse.push_back(largest + log(sum));
    out.nll.push_back(out.lse.back() - z[targets[row]]);
  }
  return out;
}

inline std::vector<double> cross_entropy_gradient(const std::vector<double>& logits,
                                                  const std::vector<int32_t>& targets, double scale) {
  const std::vector<double> lse = cross_entropy(logits, targets).lse;
  const size_t classes = logits.size() / targets.size();
  std::vector<double> gradient(logits.size());
  for (size_t e = 0; e < logits.size(); ++e) {
    const bool hit = e % classes == static_cast<size_t>(targets[e / classes]);
    gradient[e] = scale * (std::exp(logits[e] - lse[e / classes]) - (hit ? 1.0 : 0.0));
  }
  return gradient;
}

}  // namespace segue::oracle
