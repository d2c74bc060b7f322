// max(0, x) and its gradient, in both precisions.
#include "kernels/rectifier.h"

#include <array>
#include <cmath>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/rectifier.h"

namespace segue::kernels {

namespace {

TEST(RectifierTest, EqualsTheOracle) {
  for (const Shape& shape : {Shape{1}, Shape{31}, Shape{32}, Shape{33}, Shape{7, 11, 13}, Shape{256, 257}}) {
    for (const bool in_bfloat16 : {false, true}) {
      Queue queue(test_device(), 2);
      const auto random = [&](uint16_t site) {
        return in_bfloat16 ? random_bfloat16(shape, site) : random_tensor(shape, site);
      };
      const TestTensor x = random(1), dy = random(2), before = random(3);
      TestTensor y = in_bfloat16 ? unset_bfloat16(shape) : unset_tensor(shape), dx = copy_of(y.view());
      rectifier_forward(queue, {.x = x.view(), .y = y.view()});
      EXPECT_EQ(values(y), oracle::rectified(values(x))) << shape.text();
      rectifier_backward(queue, {.dy = dy.view(), .y = std::as_const(y).view(), .dx = dx.view()});
      const std::vector<double> zeros(static_cast<size_t>(shape.elements()));
      EXPECT_EQ(values(dx), oracle::rectifier_gradient(values(x), values(dy), zeros)) << shape.text();
      TestTensor sum = copy_of(before.view());
      rectifier_backward(queue, {.dy = dy.view(), .y = std::as_const(y).view(), .dx = sum.view(), .accumulate = true});
      const std::vector<double> expected = oracle::rectifier_gradient(values(x), values(dy), values(before));
      if (in_bfloat16) {
        expect_near_as_naive("sum", sum.view(), expected, rounded(expected), kBFloat16Gradient);
      } else {
        expect_close("sum", sum.view(), expected, kElementwise);
      }
    }
  }
}

TEST(RectifierTest, WorksInPlace) {
  Queue queue(test_device(), 1);
  const TestTensor x = random_tensor({19, 5}, 1), dy = random_tensor({19, 5}, 2);
  TestTensor y = unset_tensor({19, 5}), dx = unset_tensor({19, 5});
  rectifier_forward(queue, {.x = x.view(), .y = y.view()});
  rectifier_backward(queue, {.dy = dy.view(), .y = std::as_const(y).view(), .dx = dx.view()});
  TestTensor in_place = copy_of(x.view()), gradient = copy_of(dy.view());
  rectifier_forward(queue, {.x = std::as_const(in_place).view(), .y = in_place.view()});
  expect_identical("y", in_place.view(), y.view());
  rectifier_backward(queue,
                     {.dy = std::as_const(gradient).view(), .y = std::as_const(y).view(), .dx = gradient.view()});
  expect_identical("dx", gradient.view(), dx.view());
}

TEST(RectifierTest, OraclesGradientIsTheComplexStep) {
  const std::vector<double> x = oracle_values(random_tensor({40}, 1).view());
  const std::vector<double> dy = oracle_values(random_tensor({40}, 2).view());
  const auto loss = [&](const ComplexVector& at) { return weighted_sum(oracle::rectified(at), dy); };
  expect_close("dx", oracle::rectifier_gradient(x, dy, std::vector<double>(x.size())), complex_step_gradient(x, loss),
               kComplexStep);
}

// A model that diverged shall not look like one that did not.
TEST(RectifierTest, NaNStays) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {4}), y = unset_tensor({4});
  std::copy_n(std::array{NAN, INFINITY, -INFINITY, 0.0F}.data(), 4, x.as<float>());
  rectifier_forward(queue, {.x = std::as_const(x).view(), .y = y.view()});
  EXPECT_TRUE(std::isnan(y.as<float>()[0]));
  EXPECT_EQ(y.as<float>()[1], INFINITY);
  EXPECT_EQ(y.as<float>()[2], 0.0F);
  EXPECT_EQ(y.as<float>()[3], 0.0F);
}

TEST(RectifierTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {4}), y(DType::kFloat32, {4}), other(DType::kFloat32, {5});
  expect_contract_error([&] { rectifier_forward(queue, {.x = x.view(), .y = other.view()}); }, {"y", "[4]", "[5]"});
  expect_contract_error([&] { rectifier_backward(queue, {.dy = x.view(), .y = y.view(), .dx = y.view()}); },
                        {"dx", "y"});
  expect_contract_error(
      [&] { rectifier_backward(queue, {.dy = x.view(), .y = y.view(), .dx = x.view(), .accumulate = true}); },
      {"dx", "dy"});
}

}  // namespace

}  // namespace segue::kernels
