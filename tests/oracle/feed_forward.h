// The feed-forward network and its gradients, straight from the formula.
#pragma once

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "kernels/feed_forward.h"
#include "tests/oracle/dropout.h"
#include "tests/oracle/matmul.h"

namespace segue::oracle {

template <typename Scalar>
Scalar normal_density(Scalar x) {
  using std::exp;
  return exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
}

// Phi(x) = 1/2 + phi(x) (x + x³/3 + x⁵/(3·5) + ...), for |x| < 8: a series that complex numbers can walk too.
template <typename Scalar>
Scalar normal_cumulative(Scalar x) {
  Scalar term = x;
  Scalar series = x;
  for (int n = 1; n < 150; ++n) {
    term *= x * x / (2.0 * n + 1.0);
    series += term;
  }
  return 0.5 + normal_density(x) * series;
}

template <typename Scalar>
Scalar activate(kernels::Activation activation, Scalar x) {
  if (activation == kernels::Activation::kGelu) return x * normal_cumulative(x);
  return std::real(x) > 0.0 ? x : Scalar(0.0);
}

inline double activation_gradient(kernels::Activation activation, double x) {
  if (activation == kernels::Activation::kGelu) return normal_cumulative(x) + x * normal_density(x);
  return x > 0.0 ? 1.0 : 0.0;
}

template <typename Scalar>
struct FeedForward {
  std::vector<Scalar> x, w1, b1, w2, b2;
};

template <typename Scalar>
struct FeedForwardOutput {
  std::vector<Scalar> pre, hidden, y;
};

// x [R, D]; w1 [F, D]; w2 [D, F]; m [R, F].
template <typename Scalar>
FeedForwardOutput<Scalar> feed_forward(const FeedForward<Scalar>& in, kernels::Activation activation,
                                       const std::vector<double>& m) {
  const int64_t d = static_cast<int64_t>(in.b2.size());
  const int64_t f = static_cast<int64_t>(in.b1.size());
  const int64_t rows = static_cast<int64_t>(m.size()) / f;
  FeedForwardOutput<Scalar> out;
  out.pre = matmul({rows, f, d}, in.x, false, in.w1, true);
  for (size_t e = 0; e < out.pre.size(); ++e) out.pre[e] += in.b1[e % in.b1.size()];
  for (size_t e = 0; e < out.pre.size(); ++e) out.hidden.push_back(m[e] * activate(activation, out.pre[e]));
  out.y = matmul({rows, d, f}, out.hidden, false, in.w2, true);
  for (size_t e = 0; e < out.y.size(); ++e) out.y[e] += in.b2[e % in.b2.size()];
  return out;
}

// The gradients, under the names of what they belong to.
inline FeedForward<double> feed_forward_gradients(const FeedForward<double>& in, const FeedForwardOutput<double>& saved,
                                                  kernels::Activation activation, const std::vector<double>& m,
                                                  const std::vector<double>& dy) {
  const int64_t d = static_cast<int64_t>(in.b2.size());
  const int64_t f = static_cast<int64_t>(in.b1.size());
  const int64_t rows = static_cast<int64_t>(m.size()) / f;
  FeedForward<double> out;
  out.w2 = matmul({d, f, rows}, dy, true, saved.hidden, false);
  out.b2 = column_sums(dy, d);
  std::vector<double> dpre = matmul({rows, f, d}, dy, false, in.w2, false);
  for (size_t e = 0; e < dpre.size(); ++e) dpre[e] *= m[e] * activation_gradient(activation, saved.pre[e]);
  out.w1 = matmul({f, d, rows}, dpre, true, in.x, false);
  out.b1 = column_sums(dpre, f);
  out.x = matmul({rows, d, f}, dpre, false, in.w1, false);
  return out;
}

}  // namespace segue::oracle
