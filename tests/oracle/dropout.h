// The dropout mask, one element at a time.
#pragma once

#include <vector>

#include "kernels/dropout.h"

namespace segue::oracle {

inline std::vector<double> dropout_mask(const kernels::Dropout& dropout, int64_t count) {
  std::vector<double> m(count);
  const double p = static_cast<double>(dropout.p);
  for (int64_t e = 0; e < count; ++e) {
    const uint32_t bits = random_bits(dropout.random, dropout.first_element + static_cast<uint64_t>(e));
    m[e] = p < 1.0 && bits >= dropout_threshold(dropout.p) ? 1.0 / (1.0 - p) : 0.0;
  }
  return m;
}

// y = x * m; its gradient is the same product.
template <typename Scalar>
std::vector<Scalar> multiply(const std::vector<Scalar>& x, const std::vector<double>& m) {
  std::vector<Scalar> y(x.size());
  for (size_t e = 0; e < x.size(); ++e) y[e] = x[e] * m[e];
  return y;
}

}  // namespace segue::oracle
