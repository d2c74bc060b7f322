// How tests judge bfloat16: by the error of the naive path, which rounds after every operation.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/testing.h"

namespace segue::kernels {

inline std::vector<double> rounded(std::vector<double> values) {
  for (double& value : values) value = static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
  return values;
}

inline OwnedTensor random_bfloat16(const Shape& shape, uint16_t site, double deviation = 1.0) {
  return cast(random_tensor(shape, site, deviation), DType::kBFloat16);
}

// The largest difference; NaN when there is one.
inline double largest_error(const std::vector<double>& found, const std::vector<double>& expected) {
  double largest = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(found[i] - expected[i]);
    if (!(error <= largest)) largest = error;
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

// `factor` is one of tolerance.h.
inline void expect_error_as_naive(const std::string& what, ConstTensorView found, const std::vector<double>& expected,
                                  const std::vector<double>& naive, double factor) {
  const std::vector<double> values = oracle_values(found);
  ASSERT_EQ(values.size(), expected.size()) << what;
  ASSERT_EQ(naive.size(), expected.size()) << what;
  double scale = 0.0;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  const double allowed = factor * largest_error(naive, expected) + kBFloat16Slack * scale;
  EXPECT_TRUE(largest_error(values, expected) <= allowed)
      << what << ": error " << largest_error(values, expected) << ", allowed " << allowed;
}

}  // namespace segue::kernels
