// Adaptive attention spans against the oracle, at the ends of their ramps, and with scores beside them.
#include <cmath>
#include <tuple>

#include "kernels/distance_curve.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/distance_curve.h"

namespace segue::kernels {

namespace {

constexpr CurveFormula kSpan = CurveFormula::kSpan;

std::vector<double> curves_of(const TestTensor& z, int64_t distances, const SpanExtents& span) {
  Queue queue(test_device(), 2);
  TestTensor curve = unset_tensor({z.shape()[0], distances});
  distance_curve_forward(queue, {.formula = kSpan, .alpha = z.view(), .beta = {}, .curve = curve.view(), .span = span});
  return oracle_values(curve.view());
}

// Adds to what is there, 0.25 in every head.
TestTensor gradients_of(const TestTensor& z, const TestTensor& dcurve, const SpanExtents& span, int threads = 1) {
  Queue queue(test_device(), threads);
  TestTensor dz = filled_tensor(z.shape(), 0.25F);
  distance_curve_backward(queue, {.formula = kSpan,
                                  .alpha = z.view(),
                                  .beta = {},
                                  .dcurve = dcurve.view(),
                                  .dalpha = dz.view(),
                                  .dbeta = {},
                                  .span = span});
  return dz;
}

// Spans that end below nothing, on all distances and beyond them.
class SpanCurveTest : public testing::TestWithParam<std::tuple<int64_t, int64_t>> {
 protected:
  int64_t heads_ = std::get<0>(GetParam()), distances_ = std::get<1>(GetParam());
  SpanExtents span_{.longest = static_cast<double>(distances_) + 1.0,
                    .ramp = 1.0 + static_cast<double>(distances_) / 5};
  TestTensor z_ = random_tensor({heads_}, 1, 0.5);
  TestTensor dcurve_ = random_tensor({heads_, distances_}, 2);
};

TEST_P(SpanCurveTest, ForwardEqualsTheOracle) {
  std::vector<double> found = curves_of(z_, distances_, span_);
  std::vector<double> expected =
      oracle::distance_curves(kSpan, oracle_values(z_.view()), {}, static_cast<size_t>(distances_), span_);
  for (size_t e = 0; e < expected.size(); ++e) {  // beside what is not seen, all others are nothing
    EXPECT_EQ(found[e] == kUnseen, expected[e] == kUnseen) << e;
    if (expected[e] == kUnseen) found[e] = expected[e] = 0.0;
  }
  expect_close("curve", found, expected, kElementwise);
}

TEST_P(SpanCurveTest, BackwardEqualsTheOracleOnAnyNumberOfThreads) {
  const TestTensor found = gradients_of(z_, dcurve_, span_);
  std::vector<double> expected =
      oracle::distance_curve_gradients(kSpan, oracle_values(z_.view()), std::vector<double>(z_.shape().elements()),
                                       oracle_values(dcurve_.view()), span_)
          .alpha;
  for (double& gradient : expected) gradient += 0.25;
  expect_close("dz", found.view(), expected, kReduction);
  for (const int threads : {2, 3})
    expect_identical("dz", gradients_of(z_, dcurve_, span_, threads).view(), found.view());
}

INSTANTIATE_TEST_SUITE_P(Sizes, SpanCurveTest,
                         testing::Values(std::tuple(1, 1), std::tuple(3, 31), std::tuple(4, 32), std::tuple(31, 33),
                                         std::tuple(5, 131), std::tuple(8, 1024)));

TEST(SpanCurveOracle, GradientsByComplexStep) {
  const std::vector<double> z{0.0, 0.31, 0.77, 1.0}, none(4);
  constexpr SpanExtents kExtents{.longest = 9.5, .ramp = 3.3};
  const std::vector<double> dcurve = oracle_values(random_tensor({4, 12}, 1).view());
  const auto gradients = oracle::distance_curve_gradients(kSpan, z, none, dcurve, kExtents);
  expect_close("z", gradients.alpha,
               complex_step_gradient(z,
                                     [&](const ComplexVector& at) {
                                       return weighted_sum(oracle::distance_curves(kSpan, at, {}, 12, kExtents),
                                                           dcurve);
                                     }),
               kComplexStep);
}

// A span of 4 tokens beyond the query's own, and a ramp of 4: the ends themselves have no slope.
TEST(SpanCurve, IsWholeUpToTheSpanAndNothingFromTheEndOfTheRampOn) {
  constexpr SpanExtents kExtents{.longest = 8.0, .ramp = 4.0};
  const TestTensor z = filled_tensor({1}, 0.5F);
  const std::vector<double> found = curves_of(z, 12, kExtents);
  for (size_t d = 0; d < 12; ++d) {
    TestTensor dcurve = filled_tensor({1, 12}, 0.0F);
    dcurve.as<float>()[d] = 1.0F;
    const double slope = oracle_values(gradients_of(z, dcurve, kExtents).view())[0] - 0.25;
    const double left = 8.0 - static_cast<double>(d);
    const bool is_on_ramp = d > 4 && d < 8;
    EXPECT_NEAR(slope, is_on_ramp ? 8.0 / left : 0.0, 1e-6) << d;
    if (is_on_ramp) {
      EXPECT_NEAR(found[d], std::log(left / 4.0), 1e-6) << d;
    } else {
      EXPECT_EQ(found[d], d <= 4 ? 0.0 : kUnseen) << d;
    }
  }
}

// A ramp of one token is none: a window of one key more than the span.
TEST(SpanCurve, WithARampOfOneTokenIsAWindow) {
  for (const float share : {0.0F, 0.25F, 1.0F}) {
    const std::vector<double> found = curves_of(filled_tensor({1}, share), 12, {.longest = 8.0, .ramp = 1.0});
    for (size_t d = 0; d < 12; ++d)
      EXPECT_EQ(found[d], static_cast<double>(d) <= static_cast<double>(share) * 8.0 ? 0.0 : kUnseen) << share << d;
  }
}

// As near to the end of a ramp as floats come, and far from every range.
TEST(SpanCurve, NothingIsInfinite) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  constexpr SpanExtents kExtents{.longest = 1 << 20, .ramp = 32.0};
  const TestTensor dcurve = filled_tensor({1, 70}, 1e-3F);
  for (const float z :
       {-1e30F, -1.0F, -1e-30F, 0.0F, 1e-45F, 1e-30F, 3e-7F, std::nextafterf(1.0F / (1 << 20), 1.0F), 1.0F, 1e30F}) {
    const TestTensor of_head = filled_tensor({1}, z);
    EXPECT_TRUE(std::ranges::all_of(curves_of(of_head, 70, kExtents), is_finite)) << z;
    EXPECT_TRUE(std::ranges::all_of(oracle_values(gradients_of(of_head, dcurve, kExtents).view()), is_finite)) << z;
  }
}

TEST(SpanCurve, FromNaNComesNaN) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  constexpr SpanExtents kExtents{.longest = 8.0, .ramp = 4.0};
  const TestTensor z = filled_tensor({1}, NAN), dcurve = filled_tensor({1, 9}, 1e-3F);
  EXPECT_TRUE(std::ranges::all_of(curves_of(z, 9, kExtents), is_nan));
  EXPECT_TRUE(std::ranges::all_of(oracle_values(gradients_of(z, dcurve, kExtents).view()), is_nan));
}

TEST(SpanCurve, NamesWhatBreaksTheContract) {
  Queue queue(test_device(), 1);
  TestTensor z(DType::kFloat32, {3}), other(DType::kFloat32, {3}), curve(DType::kFloat32, {3, 4});
  const auto forward = [&](ConstTensorView beta, const SpanExtents& span) {
    distance_curve_forward(queue,
                           {.formula = kSpan, .alpha = z.view(), .beta = beta, .curve = curve.view(), .span = span});
  };
  expect_contract_error([&] { forward(other.view(), {.longest = 8.0, .ramp = 4.0}); }, {"beta", "kSpan"});
  expect_contract_error([&] { forward({}, {.longest = 0.0, .ramp = 4.0}); }, {"span.longest", "above 0", "0"});
  expect_contract_error([&] { forward({}, {.longest = 8.0, .ramp = -1.0}); }, {"span.ramp", "above 0", "-1"});
}

}  // namespace

}  // namespace segue::kernels
