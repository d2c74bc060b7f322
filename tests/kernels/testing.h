// Shared by the kernel tests: random tensors, double copies of them, and comparison with the oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bfloat16.h"
#include "base/buffer.h"
#include "base/random.h"
#include "base/tensor.h"
#include "tests/kernels/test_device.h"
#include "tests/kernels/test_tensor.h"
#include "tests/kernels/tolerance.h"

namespace segue::kernels {

// A float32 tensor with standard normal entries times `deviation`; the same `site` gives the same numbers.
inline TestTensor random_tensor(const Shape& shape, uint16_t site, double deviation = 1.0) {
  TestTensor tensor(DType::kFloat32, shape);
  const RandomSequence sequence{2024, 0, site};
  for (int64_t i = 0; i < shape.elements(); ++i)
    tensor.as<float>()[i] = static_cast<float>(deviation * random_normal(sequence, static_cast<uint64_t>(i)));
  return tensor;
}

inline TestTensor filled_tensor(const Shape& shape, float value) {
  TestTensor tensor(DType::kFloat32, shape);
  std::fill_n(tensor.as<float>(), shape.elements(), value);
  return tensor;
}

// The content of an output before an operation that promises to overwrite it.
inline TestTensor unset_tensor(const Shape& shape) { return filled_tensor(shape, NAN); }

// A float32 tensor's elements rounded to another dtype of activations.
inline TestTensor cast(TestTensor tensor, DType dtype) {
  if (dtype == DType::kFloat32) return tensor;
  TestTensor rounded(dtype, tensor.shape());
  for (int64_t e = 0; e < tensor.shape().elements(); ++e) rounded.as<BFloat16>()[e] = BFloat16(tensor.as<float>()[e]);
  return rounded;
}

inline TestTensor index_tensor(const std::vector<int32_t>& values) {
  TestTensor tensor(DType::kInt32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<int32_t>());
  return tensor;
}

inline TestTensor copy_of(ConstTensorView view) {
  TestTensor tensor(view.dtype, view.shape);
  copy_tensor(tensor.view(), view, test_device());
  return tensor;
}

// The elements in the oracle's precision; an empty view gives an empty vector.
template <typename Scalar = double>
std::vector<Scalar> oracle_values(ConstTensorView tensor) {
  if (tensor.empty()) return {};
  const HostTensor host(tensor, test_device());
  const ConstTensorView view = host.view();
  std::vector<Scalar> values;
  for (int64_t e = 0; e < view.elements(); ++e) {
    const bool is_float32 = view.dtype == DType::kFloat32;
    values.push_back(is_float32 ? view.as<float>()[e] : static_cast<float>(view.as<BFloat16>()[e]));
  }
  return values;
}

// In magnitude.
inline double largest(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// Fails on NaN on either side. `terms` is the size of the terms of a sum where they may cancel altogether.
inline void expect_close(const std::string& what, const std::vector<double>& found, const std::vector<double>& expected,
                         Tolerance tolerance, double terms = kSmallestScale) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  const double scale = std::max(terms, largest(expected));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(std::abs(found[i] - expected[i]) <= tolerance.relative * scale)
        << what << "[" << i << "]: expected " << expected[i] << ", found " << found[i] << ", scale " << scale;
  }
}

inline void expect_close(const std::string& what, ConstTensorView found, const std::vector<double>& expected,
                         Tolerance tolerance, double terms = kSmallestScale) {
  expect_close(what, oracle_values(found), expected, tolerance, terms);
}

// Bit for bit; says where they part.
inline void expect_identical(const std::string& what, ConstTensorView a, ConstTensorView b) {
  ASSERT_EQ(a.shape, b.shape) << what;
  const HostTensor left(a, test_device()), right(b, test_device());
  const std::byte* begin = left.view().data;
  const auto differ = std::mismatch(begin, begin + a.bytes(), right.view().data);
  EXPECT_EQ(differ.first - begin, a.bytes()) << what << ": first differing byte";
}

using ComplexVector = std::vector<std::complex<double>>;

// The gradient of `loss` at `point`: Im loss(x + ih) / h, exact to rounding because nothing is subtracted
// (Squire & Trapp 1998).
inline std::vector<double> complex_step_gradient(
    const std::vector<double>& point, const std::function<std::complex<double>(const ComplexVector&)>& loss) {
  constexpr double kStep = 1e-100;
  ComplexVector at(point.begin(), point.end());
  std::vector<double> gradient(point.size());
  for (size_t i = 0; i < point.size(); ++i) {
    at[i] += std::complex<double>(0.0, kStep);
    gradient[i] = loss(at).imag() / kStep;
    at[i] = point[i];
  }
  return gradient;
}

// sum of a[i] * b[i]: a loss whose gradient with respect to `a` is `b`.
template <typename Scalar>
Scalar weighted_sum(const std::vector<Scalar>& a, const std::vector<double>& b) {
  Scalar sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// `call` breaks a contract, and the message names it with all of `words`.
template <typename Call>
void expect_contract_error(Call call, const std::vector<std::string>& words) {
  try {
    call();
    ADD_FAILURE() << "no ContractError naming " << words.front();
  } catch (const ContractError& error) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << " lacks " << word;
  }
}

}  // namespace segue::kernels
