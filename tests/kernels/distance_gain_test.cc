// Gains by distance against the oracle, and where a plain formula would overflow.
#include "kernels/distance_gain.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/distance_gain.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t heads, distances;
};

class DistanceGainTest : public testing::TestWithParam<Case> {
 protected:
  Case size_ = GetParam();
  // Curves whose whole length the distances see.
  TestTensor alpha_ = random_tensor({size_.heads}, 1, 4.0 / static_cast<double>(size_.distances + 1));
  TestTensor beta_ = random_tensor({size_.heads}, 2);
  TestTensor dgain_ = random_tensor({size_.heads, size_.distances}, 3);

  struct Gradients {
    TestTensor dalpha, dbeta;
  };
  Gradients gradients(int threads) {
    Queue queue(test_device(), threads);
    Gradients found{random_tensor({size_.heads}, 4), random_tensor({size_.heads}, 5)};
    distance_gain_backward(queue, {.alpha = alpha_.view(),
                                   .beta = beta_.view(),
                                   .dgain = dgain_.view(),
                                   .dalpha = found.dalpha.view(),
                                   .dbeta = found.dbeta.view()});
    return found;
  }
};

std::vector<double> gains_of(const TestTensor& alpha, const TestTensor& beta, int64_t distances) {
  Queue queue(test_device(), 2);
  TestTensor gain = unset_tensor({alpha.shape()[0], distances});
  distance_gain_forward(queue, {.alpha = alpha.view(), .beta = beta.view(), .gain = gain.view()});
  return oracle_values(gain.view());
}

TEST_P(DistanceGainTest, ForwardEqualsTheOracle) {
  Queue queue(test_device(), 2);
  TestTensor gain = unset_tensor(dgain_.shape());
  distance_gain_forward(queue, {.alpha = alpha_.view(), .beta = beta_.view(), .gain = gain.view()});
  expect_close("gain", gain.view(),
               oracle::distance_gains(oracle_values(alpha_.view()), oracle_values(beta_.view()),
                                      static_cast<size_t>(size_.distances)),
               kElementwise);
}

TEST_P(DistanceGainTest, BackwardEqualsTheOracleOnAnyNumberOfThreads) {
  const Gradients found = gradients(1);
  const auto added = oracle::distance_gain_gradients(oracle_values(alpha_.view()), oracle_values(beta_.view()),
                                                     oracle_values(dgain_.view()));
  const auto expect_sum = [&](const std::string& name, const TestTensor& sum, uint16_t site,
                              const std::vector<double>& gradient) {
    std::vector<double> expected = oracle_values(random_tensor(sum.shape(), site).view());
    for (size_t n = 0; n < expected.size(); ++n) expected[n] += gradient[n];
    expect_close(name, sum.view(), expected, kReduction);
  };
  expect_sum("dalpha", found.dalpha, 4, added.alpha);
  expect_sum("dbeta", found.dbeta, 5, added.beta);
  for (const int threads : {2, 3}) {
    const Gradients again = gradients(threads);
    expect_identical("dalpha", again.dalpha.view(), found.dalpha.view());
    expect_identical("dbeta", again.dbeta.view(), found.dbeta.view());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, DistanceGainTest,
                         testing::Values(Case{1, 1}, Case{3, 31}, Case{4, 32}, Case{31, 33}, Case{5, 131},
                                         Case{8, 1024}, Case{2, 0}));

TEST(DistanceGainOracle, GradientsByComplexStep) {
  const std::vector<double> alpha{0.3, -0.2, 0.0}, beta{0.0, 1.5, -0.7};
  const std::vector<double> dgain = oracle_values(random_tensor({3, 9}, 1).view());
  const auto gradients = oracle::distance_gain_gradients(alpha, beta, dgain);
  const auto loss_of = [&](const ComplexVector& a, const ComplexVector& b) {
    return weighted_sum(oracle::distance_gains(a, b, 9), dgain);
  };
  const ComplexVector fixed_alpha(alpha.begin(), alpha.end()), fixed_beta(beta.begin(), beta.end());
  expect_close("alpha", gradients.alpha,
               complex_step_gradient(alpha, [&](const ComplexVector& at) { return loss_of(at, fixed_beta); }),
               kComplexStep);
  expect_close("beta", gradients.beta,
               complex_step_gradient(beta, [&](const ComplexVector& at) { return loss_of(fixed_alpha, at); }),
               kComplexStep);
}

TestTensor tensor_of(const std::vector<float>& values) {
  TestTensor tensor(DType::kFloat32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<float>());
  return tensor;
}

TEST(DistanceGain, IsOneAtNoDistanceAndWithoutSlopeToTheBit) {
  for (const float beta : {-1e4F, -3.0F, 0.0F, 0.7F, 50.0F, 1e4F}) {
    EXPECT_EQ(gains_of(tensor_of({0.0F}), tensor_of({beta}), 9), std::vector<double>(9, 1.0)) << beta;
    for (const float alpha : {-2.0F, 0.3F, 1e6F})
      EXPECT_EQ(gains_of(tensor_of({alpha}), tensor_of({beta}), 2)[0], 1.0) << alpha << " " << beta;
  }
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Where f goes to as its arguments grow: nothing is infinite, neither forward nor backward.
TEST(DistanceGain, LimitsAreFinite) {
  const std::vector<float> large{-1e6F, -300.0F, -100.0F, 100.0F, 300.0F, 1e6F};
  constexpr double kSmallestNormal = 1.2e-38;
  const double largest = std::exp(88.0);
  for (const float alpha : large) {
    for (const float beta : large) {
      const TestTensor a = tensor_of({alpha}), b = tensor_of({beta});
      const double r = static_cast<double>(alpha), at_zero = static_cast<double>(beta);
      const double expected = std::min(std::exp(softplus(at_zero) - softplus(at_zero - r)), largest);
      EXPECT_NEAR(gains_of(a, b, 2)[1], expected, 1e-6 * expected + kSmallestNormal) << alpha << " " << beta;
      Queue queue(test_device(), 1);
      TestTensor dgain = filled_tensor({1, 5}, 1e-3F), dalpha = filled_tensor({1}, 0.0F),
                 dbeta = filled_tensor({1}, 0.0F);
      distance_gain_backward(queue, {a.view(), b.view(), dgain.view(), dalpha.view(), dbeta.view()});
      EXPECT_TRUE(std::isfinite(dalpha.as<float>()[0]) && std::isfinite(dbeta.as<float>()[0])) << alpha << " " << beta;
    }
  }
}

TEST(DistanceGain, NamesWhatBreaksTheContract) {
  Queue queue(test_device(), 1);
  TestTensor alpha(DType::kFloat32, {3}), beta(DType::kFloat32, {3}), other(DType::kFloat32, {2});
  TestTensor dalpha(DType::kFloat32, {3}), dbeta(DType::kFloat32, {3}), gain(DType::kFloat32, {3, 4});
  expect_contract_error(
      [&] {
        distance_gain_forward(queue, {other.view(), beta.view(), gain.view()});
      },
      {"alpha", "[3]", "[2]"});
  expect_contract_error(
      [&] {
        distance_gain_forward(queue, {alpha.view(), other.view(), gain.view()});
      },
      {"beta", "[3]", "[2]"});
  expect_contract_error([&] { distance_gain_forward(queue, {alpha.view(), beta.view(), alpha.view()}); }, {"gain"});
  expect_contract_error(
      [&] {
        distance_gain_forward(queue, {alpha.view(), view_of(gain.view().as<float>(), {3}), gain.view()});
      },
      {"gain", "beta"});
  expect_contract_error(
      [&] {
        distance_gain_backward(queue, {alpha.view(), beta.view(), gain.view(), dalpha.view(), other.view()});
      },
      {"dbeta", "[3]", "[2]"});
  expect_contract_error(
      [&] {
        distance_gain_backward(queue, {alpha.view(), beta.view(), gain.view(), dalpha.view(), dalpha.view()});
      },
      {"dbeta", "dalpha"});
}

}  // namespace

}  // namespace segue::kernels
