// Gates of elements and their gradients, from the formulas.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace segue::oracle {

// As in kernels/element_gate.h; what is missing there is empty here.
template <typename Scalar>
struct ElementGate {
  size_t columns = 0;
  bool is_bounded = false;
  double bias_factor = 1.0;
  std::vector<Scalar> a, b, logits, bias;

  Scalar passed(size_t e) const { return is_bounded ? std::tanh(a[e]) : a[e]; }
  Scalar other(size_t e) const { return b.empty() ? Scalar(0.0) : b[e]; }
  Scalar share(size_t e) const {
    Scalar z(0.0);
    if (!logits.empty()) z += logits[e];
    if (!bias.empty()) z += bias_factor * bias[e % columns];
    return 1.0 / (1.0 + std::exp(-z));
  }
};

template <typename Scalar>
std::vector<Scalar> element_gate(const ElementGate<Scalar>& in) {
  std::vector<Scalar> y;
  for (size_t e = 0; e < in.a.size(); ++e) y.push_back(in.share(e) * in.passed(e) + (1.0 - in.share(e)) * in.other(e));
  return y;
}

struct ElementGateGradients {
  std::vector<double> a, b, logits, bias;
};
inline ElementGateGradients element_gate_gradients(const ElementGate<double>& in, const std::vector<double>& dy) {
  ElementGateGradients to{.a = {}, .b = {}, .logits = {}, .bias = std::vector<double>(in.columns)};
  for (size_t e = 0; e < in.a.size(); ++e) {
    const double share = in.share(e), passed = in.passed(e);
    to.a.push_back(share * dy[e] * (in.is_bounded ? 1.0 - passed * passed : 1.0));
    to.b.push_back((1.0 - share) * dy[e]);
    to.logits.push_back(share * (1.0 - share) * dy[e] * (passed - in.other(e)));
    to.bias[e % in.columns] += in.bias_factor * to.logits.back();
  }
  return to;
}

}  // namespace segue::oracle
