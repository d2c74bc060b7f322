// Curves of distance against the oracle, and where a plain formula would overflow.
#include "kernels/distance_curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "tests/kernels/testing.h"
#include "tests/oracle/distance_curve.h"

namespace segue::kernels {

namespace {

// Those of two numbers a head.
constexpr std::array kOfTwo{CurveFormula::kSigmoid, CurveFormula::kLogarithm};

struct Extents {
  int64_t heads, distances;
};

class DistanceCurveTest : public testing::TestWithParam<std::tuple<CurveFormula, Extents>> {
 protected:
  CurveFormula formula_ = std::get<0>(GetParam());
  Extents size_ = std::get<1>(GetParam());
  // Curves whose whole length the distances see.
  TestTensor alpha_ = random_tensor({size_.heads}, 1, 4.0 / static_cast<double>(size_.distances + 1));
  TestTensor beta_ = random_tensor({size_.heads}, 2);
  TestTensor dcurve_ = random_tensor({size_.heads, size_.distances}, 3);

  struct Gradients {
    TestTensor dalpha, dbeta;
  };
  Gradients gradients(int threads) {
    Queue queue(test_device(), threads);
    Gradients found{random_tensor({size_.heads}, 4), random_tensor({size_.heads}, 5)};
    distance_curve_backward(queue, {.formula = formula_,
                                    .alpha = alpha_.view(),
                                    .beta = beta_.view(),
                                    .dcurve = dcurve_.view(),
                                    .dalpha = found.dalpha.view(),
                                    .dbeta = found.dbeta.view()});
    return found;
  }
};

TEST_P(DistanceCurveTest, ForwardEqualsTheOracle) {
  Queue queue(test_device(), 2);
  TestTensor curve = unset_tensor(dcurve_.shape());
  distance_curve_forward(queue,
                         {.formula = formula_, .alpha = alpha_.view(), .beta = beta_.view(), .curve = curve.view()});
  expect_close("curve", curve.view(),
               oracle::distance_curves(formula_, oracle_values(alpha_.view()), oracle_values(beta_.view()),
                                       static_cast<size_t>(size_.distances)),
               kElementwise);
}

TEST_P(DistanceCurveTest, BackwardEqualsTheOracleOnAnyNumberOfThreads) {
  const Gradients found = gradients(1);
  const auto added = oracle::distance_curve_gradients(formula_, oracle_values(alpha_.view()),
                                                      oracle_values(beta_.view()), oracle_values(dcurve_.view()));
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

INSTANTIATE_TEST_SUITE_P(Sizes, DistanceCurveTest,
                         testing::Combine(testing::ValuesIn(kOfTwo),
                                          testing::Values(Extents{1, 1}, Extents{3, 31}, Extents{4, 32},
                                                          Extents{31, 33}, Extents{5, 131}, Extents{8, 1024},
                                                          Extents{2, 0})));

TEST(DistanceCurveOracle, GradientsByComplexStep) {
  const std::vector<double> alpha{0.3, -0.2, 0.0}, beta{0.0, 1.5, -0.7};
  const std::vector<double> dcurve = oracle_values(random_tensor({3, 9}, 1).view());
  const ComplexVector fixed_alpha(alpha.begin(), alpha.end()), fixed_beta(beta.begin(), beta.end());
  for (const CurveFormula formula : kOfTwo) {
    const auto gradients = oracle::distance_curve_gradients(formula, alpha, beta, dcurve);
    const auto loss_of = [&](const ComplexVector& a, const ComplexVector& b) {
      return weighted_sum(oracle::distance_curves(formula, a, b, 9), dcurve);
    };
    expect_close("alpha", gradients.alpha,
                 complex_step_gradient(alpha, [&](const ComplexVector& at) { return loss_of(at, fixed_beta); }),
                 kComplexStep);
    expect_close("beta", gradients.beta,
                 complex_step_gradient(beta, [&](const ComplexVector& at) { return loss_of(fixed_alpha, at); }),
                 kComplexStep);
  }
}

// One head: its values at the first distances, and the gradients of a small dcurve.
class Head {
 public:
  Head(CurveFormula formula, float alpha, float beta)
      : formula_(formula), alpha_(filled_tensor({1}, alpha)), beta_(filled_tensor({1}, beta)) {}

  std::vector<double> values(int64_t distances) const {
    Queue queue(test_device(), 2);
    TestTensor curve = unset_tensor({1, distances});
    distance_curve_forward(queue, {formula_, alpha_.view(), beta_.view(), curve.view(), {}});
    return oracle_values(curve.view());
  }

  std::vector<double> gradients() const {
    Queue queue(test_device(), 1);
    TestTensor dcurve = filled_tensor({1, 5}, 1e-3F), dalpha = filled_tensor({1}, 0.0F),
               dbeta = filled_tensor({1}, 0.0F);
    distance_curve_backward(queue,
                            {formula_, alpha_.view(), beta_.view(), dcurve.view(), dalpha.view(), dbeta.view(), {}});
    return {dalpha.as<float>()[0], dbeta.as<float>()[0]};
  }

 private:
  CurveFormula formula_;
  TestTensor alpha_, beta_;
};

TEST(DistanceCurve, SigmoidIsOneAtNoDistanceAndWithoutSlopeToTheBit) {
  for (const float beta : {-1e4F, -3.0F, 0.0F, 0.7F, 50.0F, 1e4F}) {
    EXPECT_EQ(Head(CurveFormula::kSigmoid, 0.0F, beta).values(9), std::vector<double>(9, 1.0)) << beta;
    for (const float alpha : {-2.0F, 0.3F, 1e6F})
      EXPECT_EQ(Head(CurveFormula::kSigmoid, alpha, beta).values(1)[0], 1.0) << alpha << " " << beta;
  }
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

constexpr std::array kLarge{-1e6F, -300.0F, -100.0F, 100.0F, 300.0F, 1e6F};

// Where f goes to as its arguments grow.
TEST(DistanceCurve, SigmoidHasLimits) {
  constexpr double kSmallestNormal = 1.2e-38;
  const double largest = std::exp(88.0);
  for (const float alpha : kLarge) {
    for (const float beta : kLarge) {
      const double r = static_cast<double>(alpha), at_zero = static_cast<double>(beta);
      const double expected = std::min(std::exp(softplus(at_zero) - softplus(at_zero - r)), largest);
      EXPECT_NEAR(Head(CurveFormula::kSigmoid, alpha, beta).values(2)[1], expected, 1e-6 * expected + kSmallestNormal)
          << alpha << " " << beta;
    }
  }
}

TEST(DistanceCurve, LogarithmIsZeroAtNoDistanceAndWhereEitherFactorVanishes) {
  for (const float other : {-1e4F, -3.0F, 0.0F, 0.7F, 50.0F, 1e4F}) {
    EXPECT_EQ(Head(CurveFormula::kLogarithm, -1e4F, other).values(9), std::vector<double>(9, 0.0)) << other;
    EXPECT_EQ(Head(CurveFormula::kLogarithm, other, -1e4F).values(9), std::vector<double>(9, 0.0)) << other;
    EXPECT_EQ(Head(CurveFormula::kLogarithm, 0.3F, other).values(1)[0], 0.0) << other;
  }
}

// A small r2 makes it a line, r1 r2 d; a large one a logarithm of d beside a constant.
TEST(DistanceCurve, LogarithmHasLimits) {
  const std::vector<double> line = Head(CurveFormula::kLogarithm, 30.0F, -31.0F).values(9);
  const std::vector<double> logarithm = Head(CurveFormula::kLogarithm, 0.0F, 60.0F).values(9);
  for (size_t d = 1; d < 9; ++d) {
    const auto distance = static_cast<double>(d);
    EXPECT_NEAR(line[d], -std::exp(-1.0) * distance, 1e-6 * distance) << d;
    EXPECT_NEAR(logarithm[d], -60.0 - std::log(distance), 1e-5) << d;
  }
  const double largest = std::exp(64.0);
  EXPECT_NEAR(Head(CurveFormula::kLogarithm, 1e6F, 1e6F).values(2)[1], -largest * 64.0, 1e-5 * largest);
}

TEST(DistanceCurve, NothingIsInfinite) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  for (const CurveFormula formula : kOfTwo) {
    for (const float alpha : kLarge) {
      for (const float beta : kLarge) {
        const Head head(formula, alpha, beta);
        EXPECT_TRUE(std::ranges::all_of(head.values(9), is_finite)) << alpha << " " << beta;
        EXPECT_TRUE(std::ranges::all_of(head.gradients(), is_finite)) << alpha << " " << beta;
      }
    }
  }
}

// A model that diverged shall not look like one that did not.
TEST(DistanceCurve, FromNaNComesNaN) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  for (const CurveFormula formula : kOfTwo) {
    for (const Head& head : {Head(formula, NAN, 0.5F), Head(formula, 0.5F, NAN)}) {
      EXPECT_TRUE(std::ranges::all_of(head.values(9), is_nan));
      EXPECT_TRUE(std::ranges::all_of(head.gradients(), is_nan));
    }
  }
}

TEST(DistanceCurve, NamesWhatBreaksTheContract) {
  constexpr CurveFormula kFormula = CurveFormula::kSigmoid;
  Queue queue(test_device(), 1);
  TestTensor alpha(DType::kFloat32, {3}), beta(DType::kFloat32, {3}), other(DType::kFloat32, {2});
  TestTensor dalpha(DType::kFloat32, {3}), dbeta(DType::kFloat32, {3}), curve(DType::kFloat32, {3, 4});
  expect_contract_error(
      [&] {
        distance_curve_forward(queue, {kFormula, other.view(), beta.view(), curve.view(), {}});
      },
      {"alpha", "[3]", "[2]"});
  expect_contract_error(
      [&] {
        distance_curve_forward(queue, {kFormula, alpha.view(), other.view(), curve.view(), {}});
      },
      {"beta", "[3]", "[2]"});
  expect_contract_error(
      [&] {
        distance_curve_forward(queue, {kFormula, alpha.view(), beta.view(), alpha.view(), {}});
      },
      {"curve"});
  expect_contract_error(
      [&] {
        distance_curve_forward(queue,
                               {kFormula, alpha.view(), view_of(curve.view().as<float>(), {3}), curve.view(), {}});
      },
      {"curve", "beta"});
  expect_contract_error(
      [&] {
        distance_curve_backward(queue,
                                {kFormula, alpha.view(), beta.view(), curve.view(), dalpha.view(), other.view(), {}});
      },
      {"dbeta", "[3]", "[2]"});
  expect_contract_error(
      [&] {
        distance_curve_backward(queue,
                                {kFormula, alpha.view(), beta.view(), curve.view(), dalpha.view(), dalpha.view(), {}});
      },
      {"dbeta", "dalpha"});
}

}  // namespace

}  // namespace segue::kernels
