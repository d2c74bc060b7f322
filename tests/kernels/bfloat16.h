// How tests judge bfloat16: by the error of the naive path, which rounds after every operation; and where they can.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/matmul.h"
#include "tests/kernels/testing.h"

namespace segue::kernels {

// Whether the device multiplies such operands. A processor without products of bfloat16 has nothing to test of them:
// the program refuses bf16 there, which bench_test demands of it on every processor.
inline bool has_products_of(DType operands) {
  return operands != DType::kBFloat16 || has_bfloat16_products(test_device());
}

// A fixture for products of bfloat16.
template <typename Fixture>
class WithBFloat16Products : public Fixture {
 protected:
  void SetUp() override {
    if (!has_products_of(DType::kBFloat16)) GTEST_SKIP() << "no bf16 products here";
    Fixture::SetUp();
  }
};

inline std::vector<double> rounded(std::vector<double> values) {
  for (double& value : values) value = static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
  return values;
}

// A number that is rounded to bfloat16 after every operation.
class NaiveBFloat16 {
 public:
  NaiveBFloat16(double value = 0.0)
      : value_(static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))))) {}
  explicit operator double() const { return value_; }

  NaiveBFloat16 operator-() const { return {-value_}; }
  friend NaiveBFloat16 operator+(NaiveBFloat16 a, NaiveBFloat16 b) { return {a.value_ + b.value_}; }
  friend NaiveBFloat16 operator-(NaiveBFloat16 a, NaiveBFloat16 b) { return {a.value_ - b.value_}; }
  friend NaiveBFloat16 operator*(NaiveBFloat16 a, NaiveBFloat16 b) { return {a.value_ * b.value_}; }
  NaiveBFloat16& operator+=(NaiveBFloat16 other) { return *this = *this + other; }
  NaiveBFloat16& operator*=(NaiveBFloat16 other) { return *this = *this * other; }
  friend NaiveBFloat16 exp(NaiveBFloat16 x) { return {std::exp(x.value_)}; }

 private:
  double value_;
};

inline std::vector<double> widened(const std::vector<NaiveBFloat16>& values) {
  std::vector<double> wide;
  for (const NaiveBFloat16& value : values) wide.push_back(static_cast<double>(value));
  return wide;
}

inline TestTensor random_bfloat16(const Shape& shape, uint16_t site, double deviation = 1.0) {
  return cast(random_tensor(shape, site, deviation), DType::kBFloat16);
}

inline TestTensor unset_bfloat16(const Shape& shape) { return cast(unset_tensor(shape), DType::kBFloat16); }

inline std::vector<double> values(const TestTensor& tensor) { return oracle_values(tensor.view()); }

// The largest error is at most `factor`, one of tolerance.h, times that of `naive`. Fails on NaN.
inline void expect_near_as_naive(const std::string& what, ConstTensorView found, const std::vector<double>& expected,
                                 const std::vector<double>& naive, double factor) {
  const std::vector<double> is = oracle_values(found);
  ASSERT_EQ(is.size(), expected.size()) << what;
  ASSERT_EQ(naive.size(), expected.size()) << what;
  double error = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) error = std::max(error, std::abs(naive[i] - expected[i]));
  const double allowed = factor * error + kBFloat16Slack * largest(expected);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::abs(is[i] - expected[i]) <= allowed)
        << what << "[" << i << "]: expected " << expected[i] << ", found " << is[i] << ", allowed " << allowed;
  }
}

}  // namespace segue::kernels
