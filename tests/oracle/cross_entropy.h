// Softmax cross-entropy, its gradient, and the margin of the target, straight from the formula.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace segue::oracle {

template <typename Scalar>
struct CrossEntropy {
  std::vector<Scalar> nll, lse;
};

// logits [R, V] with the bias in them. Of rows whose target is -1 all is 0.
template <typename Scalar>
CrossEntropy<Scalar> cross_entropy(const std::vector<Scalar>& logits, const std::vector<int32_t>& targets) {
  using std::exp, std::log, std::real;
  const size_t classes = logits.size() / targets.size();
  CrossEntropy<Scalar> out;
  for (size_t row = 0; row < targets.size(); ++row) {
    const Scalar* z = logits.data() + row * classes;
    if (targets[row] == -1) {
      out.lse.push_back(0.0);
      out.nll.push_back(0.0);
      continue;
    }
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
    if (targets[e / classes] == -1) continue;
    const bool hit = e % classes == static_cast<size_t>(targets[e / classes]);
    gradient[e] = scale * (std::exp(logits[e] - lse[e / classes]) - (hit ? 1.0 : 0.0));
  }
  return gradient;
}

// By how much the logit of every target exceeds the largest of the others.
inline std::vector<double> margins(const std::vector<double>& logits, const std::vector<int32_t>& targets) {
  const size_t classes = logits.size() / targets.size();
  std::vector<double> margins(targets.size());
  for (size_t row = 0; row < targets.size(); ++row) {
    if (targets[row] == -1) continue;
    std::vector<double> others(logits.begin() + row * classes, logits.begin() + (row + 1) * classes);
    const double own = others[targets[row]];
    others.erase(others.begin() + targets[row]);
    margins[row] = others.empty() ? std::numeric_limits<double>::infinity()
                                  : own - *std::max_element(others.begin(), others.end());
  }
  return margins;
}

}  // namespace segue::oracle
