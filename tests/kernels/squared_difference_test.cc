// Squared differences of streams and their gradient, in both precisions.
#include "kernels/squared_difference.h"

#include <algorithm>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/squared_difference.h"

namespace segue::kernels {

namespace {

constexpr float kScale = 0.37F;

TEST(SquaredDifferenceTest, EqualsTheOracle) {
  for (const Shape& shape :
       {Shape{1, 1}, Shape{3, 31}, Shape{2, 32}, Shape{5, 33}, Shape{3, 1087}, Shape{2, 8192}, Shape{7, 12289}}) {
    for (const bool in_bfloat16 : {false, true}) {
      Queue queue(test_device(), 2);
      const auto random = [&](uint16_t site) {
        return in_bfloat16 ? random_bfloat16(shape, site) : random_tensor(shape, site);
      };
      const TestTensor a = random(1), b = random(2), before = random(3);
      const std::vector<double> expected =
          oracle::squared_difference(values(a), values(b), static_cast<double>(kScale), shape[0]);
      TestTensor sums = unset_tensor({shape[0]});
      squared_difference_forward(queue, {.a = a.view(), .b = b.view(), .scale = kScale, .sums = sums.view()});
      expect_close("sums", sums.view(), expected, kReduction);
      squared_difference_forward(
          queue, {.a = a.view(), .b = b.view(), .scale = 2.0F * kScale, .sums = sums.view(), .accumulate = true});
      std::vector<double> thrice = expected;
      for (double& sum : thrice) sum *= 3.0;
      expect_close("added", sums.view(), thrice, kReduction);

      const std::vector<double> gradient =
          oracle::squared_difference_gradient(values(a), values(b), static_cast<double>(kScale));
      TestTensor db = in_bfloat16 ? unset_bfloat16(shape) : unset_tensor(shape), added = copy_of(before.view());
      squared_difference_backward(queue, {.a = a.view(), .b = b.view(), .scale = kScale, .db = db.view()});
      squared_difference_backward(
          queue, {.a = a.view(), .b = b.view(), .scale = kScale, .db = added.view(), .accumulate = true});
      std::vector<double> sum = values(before);
      for (size_t e = 0; e < sum.size(); ++e) sum[e] += gradient[e];
      const double terms = std::max(largest(gradient), largest(values(before)));
      const auto expect = [&](const char* what, ConstTensorView found, const std::vector<double>& wanted) {
        if (in_bfloat16) return expect_near_as_naive(what, found, wanted, rounded(wanted), kBFloat16Gradient);
        expect_close(what, found, wanted, kElementwise, terms);
      };
      expect("db", db.view(), gradient);
      expect("db, added", added.view(), sum);
    }
  }
}

TEST(SquaredDifferenceTest, OfTheSameIsNothing) {
  Queue queue(test_device(), 1);
  const TestTensor a = random_tensor({3, 700}, 1), b = copy_of(a.view());
  TestTensor sums = unset_tensor({3}), db = unset_tensor({3, 700});
  squared_difference_forward(queue, {.a = a.view(), .b = b.view(), .sums = sums.view()});
  squared_difference_backward(queue, {.a = a.view(), .b = b.view(), .db = db.view()});
  EXPECT_EQ(largest(values(sums)), 0.0);
  EXPECT_EQ(largest(values(db)), 0.0);
}

TEST(SquaredDifferenceTest, ThreadsDoNotChangeABit) {
  const TestTensor a = random_tensor({5, 20011}, 1), b = random_tensor({5, 20011}, 2);
  TestTensor once = unset_tensor({5});
  Queue one(test_device(), 1);
  squared_difference_forward(one, {.a = a.view(), .b = b.view(), .sums = once.view()});
  for (const int threads : {2, 3}) {
    Queue queue(test_device(), threads);
    TestTensor sums = unset_tensor({5});
    squared_difference_forward(queue, {.a = a.view(), .b = b.view(), .sums = sums.view()});
    expect_identical("sums", sums.view(), once.view());
  }
}

TEST(SquaredDifferenceTest, OraclesGradientIsTheComplexStep) {
  const std::vector<double> a = oracle_values(random_tensor({3, 13}, 1).view());
  const std::vector<double> b = oracle_values(random_tensor({3, 13}, 2).view());
  const auto loss = [&](const ComplexVector& at) {
    return weighted_sum(oracle::squared_difference(a, at, 0.3, 3), {1.0, 1.0, 1.0});
  };
  expect_close("db", oracle::squared_difference_gradient(a, b, 0.3), complex_step_gradient(b, loss), kComplexStep);
}

TEST(SquaredDifferenceTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor a(DType::kFloat32, {2, 3}), b(DType::kFloat32, {2, 3}), sums(DType::kFloat32, {2});
  TestTensor other(DType::kFloat32, {3, 2}), none(DType::kFloat32, {2, 0});
  expect_contract_error(
      [&] { squared_difference_forward(queue, {.a = a.view(), .b = other.view(), .sums = sums.view()}); },
      {"b", "[2, 3]", "[3, 2]"});
  expect_contract_error(
      [&] { squared_difference_forward(queue, {.a = none.view(), .b = none.view(), .sums = sums.view()}); },
      {"elements of a stream", "at least 1"});
  expect_contract_error([&] { squared_difference_backward(queue, {.a = a.view(), .b = b.view(), .db = b.view()}); },
                        {"db", "b"});
}

}  // namespace

}  // namespace segue::kernels
