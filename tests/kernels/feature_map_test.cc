// Features of queries and keys: every formula against the oracle, and what each promises beside it.
#include "kernels/feature_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/dropout.h"
#include "tests/oracle/feature_map.h"

namespace segue::kernels {

namespace {

using enum FeatureFormula;

constexpr std::array kFormulas = {kExponential, kWave, kProducts, kWithOne};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Case {
  FeatureFormula formula;
  int64_t rows, width, projected, shifts;
  DType dtype = DType::kFloat32;
  float scale = 1.0F;

  bool has_x() const { return formula != kWave; }
  bool has_projections() const { return formula == kExponential || formula == kWave; }
  int64_t features() const { return features_of(formula, width, projected, shifts); }
  std::string text() const {
    return fmt::format("formula {} rows {} width {} projections {} shifts {} {}", static_cast<int>(formula), rows,
                       width, projected, shifts, name_of(dtype));
  }
};

// Of rows of `width` columns, or as many projections; of both, where a formula reads both, not as many.
Case case_of(FeatureFormula formula, int64_t rows, int64_t width, DType dtype = DType::kFloat32) {
  Case c{.formula = formula, .rows = rows, .width = width, .projected = width, .shifts = 0, .dtype = dtype};
  if (formula == kExponential) {
    c.projected = width % 8 == 0 ? 2 * width : width + 3;
    c.scale = 0.8F;
  }
  if (formula == kProducts) c.shifts = std::min({int64_t{3}, 2 * width - 1, kMaxFeatures / (2 * width)});
  return c;
}

struct Problem {
  Case c;
  TestTensor x, projections, dy;

  explicit Problem(const Case& of)
      : c(of),
        x(cast(random_tensor({of.rows, of.width}, 1, 0.3), of.dtype)),
        projections(cast(random_tensor({of.rows, of.projected}, 2), of.dtype)),
        dy(cast(random_tensor({of.rows, of.features()}, 3), of.dtype)) {}

  FeatureMapInputs inputs() const {
    return {.formula = c.formula,
            .shifts = c.shifts,
            .scale = c.scale,
            .x = c.has_x() ? x.view() : ConstTensorView{},
            .projections = c.has_projections() ? projections.view() : ConstTensorView{}};
  }
  oracle::FeatureMapProblem<double> oracles() const {
    return {.formula = c.formula,
            .rows = static_cast<size_t>(c.rows),
            .width = c.has_x() ? static_cast<size_t>(c.width) : 0,
            .projected = c.has_projections() ? static_cast<size_t>(c.projected) : 0,
            .shifts = static_cast<size_t>(c.shifts),
            .scale = static_cast<double>(c.scale),
            .x = oracle_values(inputs().x),
            .projections = oracle_values(inputs().projections)};
  }
};

struct Solution {
  TestTensor y, dx, dprojections;

  explicit Solution(const Case& c)
      : y(cast(unset_tensor({c.rows, c.features()}), c.dtype)),
        dx(cast(unset_tensor({c.rows, c.width}), c.dtype)),
        dprojections(cast(unset_tensor({c.rows, c.projected}), c.dtype)) {}
};

Solution solve(const Problem& p, int threads = 2) {
  Queue queue(test_device(), threads);
  Solution s(p.c);
  feature_map_forward(queue, {.inputs = p.inputs(), .y = s.y.view()});
  feature_map_backward(queue, {.inputs = p.inputs(),
                               .y = p.c.formula == kExponential ? s.y.view() : TensorView{},
                               .dy = p.dy.view(),
                               .dx = p.c.has_x() ? s.dx.view() : TensorView{},
                               .dprojections = p.c.has_projections() ? s.dprojections.view() : TensorView{}});
  return s;
}

void expect_oracle(const Problem& p) {
  SCOPED_TRACE(p.c.text());
  const Solution s = solve(p);
  expect_close("y", s.y.view(), oracle::feature_map(p.oracles()), kReduction);
  const oracle::FeatureMapGradients expected = oracle::feature_map_gradients(p.oracles(), values(p.dy));
  if (p.c.has_x()) expect_close("dx", s.dx.view(), expected.x, kReduction, 1.0);
  if (p.c.has_projections()) expect_close("dprojections", s.dprojections.view(), expected.projections, kReduction);
}

TEST(FeatureMapTest, EqualsTheOracle) {
  for (const FeatureFormula formula : kFormulas) {
    for (const int64_t width : {1, 7, 31, 32, 33, 64, 130}) expect_oracle(Problem(case_of(formula, 33, width)));
    for (const int64_t rows : {1, 31, 32, 97}) expect_oracle(Problem(case_of(formula, rows, 24)));
  }
}

TEST(FeatureMapTest, EqualsTheOracleOfWidestRowsAndMostShifts) {
  for (const Case& c : {Case{kExponential, 3, 512, 512, 0}, Case{kExponential, 3, 511, 8, 0}, Case{kWave, 3, 1, 256, 0},
                        Case{kProducts, 3, 256, 1, 1}, Case{kProducts, 5, 7, 1, 13}, Case{kProducts, 5, 8, 1, 15},
                        Case{kProducts, 5, 1, 1, 1}, Case{kWithOne, 3, 511, 1, 0}})
    expect_oracle(Problem(c));
}

TEST(FeatureMapTest, EqualsTheOracleInBFloat16) {
  for (const FeatureFormula formula : kFormulas) {
    for (const auto [rows, width] : {std::array<int64_t, 2>{33, 64}, {97, 31}}) {
      const Problem p(case_of(formula, rows, width, DType::kBFloat16));
      SCOPED_TRACE(p.c.text());
      const Solution s = solve(p);
      const std::vector<double> y = oracle::feature_map(p.oracles());
      expect_near_as_naive("y", s.y.view(), y, rounded(y), kBFloat16Output);
      const oracle::FeatureMapGradients expected = oracle::feature_map_gradients(p.oracles(), values(p.dy));
      std::vector<double> naive_dx = rounded(expected.x), naive_dp = rounded(expected.projections);
      if (formula == kExponential) {  // from rounded features
        naive_dp = oracle::multiply(values(p.dy), rounded(y));
        for (double& gradient : naive_dp) gradient = gradient * p.c.scale;
        naive_dp = rounded(naive_dp);
        const std::vector<double> x = values(p.x);
        for (size_t e = 0; e < naive_dx.size(); ++e) {
          const auto first = naive_dp.begin() + static_cast<int64_t>(e) / width * p.c.projected;
          naive_dx[e] = -p.c.scale * x[e] * std::accumulate(first, first + p.c.projected, 0.0);
        }
        naive_dx = rounded(naive_dx);
      }
      if (p.c.has_x()) expect_near_as_naive("dx", s.dx.view(), expected.x, naive_dx, kBFloat16Gradient);
      if (p.c.has_projections()) {
        expect_near_as_naive("dprojections", s.dprojections.view(), expected.projections, naive_dp, kBFloat16Gradient);
      }
    }
  }
}

TEST(FeatureMapTest, CutsExponentsAtBothEnds) {
  constexpr std::array kExponents = {-kInfinity, -1e30F, -40.5F, -40.0F, -39.5F, 29.5F, 30.0F, 30.5F, 1e30F, kInfinity};
  const auto count = static_cast<int64_t>(kExponents.size());
  Problem p({kExponential, 2, 3, count, 0});
  for (int64_t i = 0; i < count; ++i) {
    p.projections.as<float>()[i] = kExponents[i];
    p.projections.as<float>()[count + i] = 1.0F;
  }
  std::fill_n(p.x.as<float>(), 3, 0.0F);
  std::fill_n(p.x.as<float>() + 3, 3, 1e25F);  // whose square is no float
  const Solution s = solve(p);
  const std::vector<double> y = values(s.y), dp = values(s.dprojections), dy = values(p.dy), dx = values(s.dx);
  for (int64_t i = 0; i < count; ++i) {
    const double exponent = std::clamp(static_cast<double>(kExponents[i]), -40.0, 30.0);
    EXPECT_NEAR(y[i] / std::exp(exponent), 1.0, kElementwise.relative) << i;
    const bool is_cut = kExponents[i] < -40.0F || kExponents[i] > 30.0F;
    EXPECT_EQ(dp[i], is_cut ? 0.0 : static_cast<double>(static_cast<float>(dy[i] * y[i]))) << i;
    EXPECT_NEAR(y[count + i] / std::exp(-40.0), 1.0, kElementwise.relative) << i;
    EXPECT_EQ(dp[count + i], 0.0) << i;
  }
  for (const double gradient : dx) EXPECT_EQ(gradient, 0.0);
  const auto least = static_cast<float>(y.front()), most = static_cast<float>(y[count - 1]);
  EXPECT_GT(least * least, std::numeric_limits<float>::min());
  EXPECT_TRUE(std::isfinite(most * most * static_cast<float>(kMaxFeatures) * 1e9F));  // a text of 10^9 tokens
}

TEST(FeatureMapTest, ProductsOfWavesAreTheMeanOfCosines) {
  const Problem p({kWave, 2, 1, 96, 0});
  const std::vector<double> y = values(solve(p).y), angles = values(p.projections);
  double product = 0.0, mean = 0.0;
  for (size_t i = 0; i < 192; ++i) product += y[i] * y[192 + i];
  for (size_t i = 0; i < 96; ++i) mean += std::cos(angles[i] - angles[96 + i]) / 96.0;
  EXPECT_NEAR(product, mean, kReduction.relative);
}

TEST(FeatureMapTest, WavesOfLargeAngles) {
  Problem p({kWave, 1, 1, 64, 0});
  for (int64_t i = 0; i < 64; ++i) {
    const float size = std::ldexp(1.1F, static_cast<int>(i / 2) * 4);  // up to 2^124
    p.projections.as<float>()[i] = i % 2 == 0 ? size : -size;
  }
  expect_oracle(p);
  p.projections.as<float>()[5] = kInfinity;
  const std::vector<double> y = values(solve(p).y);
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(std::isnan(y[i]), i % 64 == 5) << i;
}

std::vector<double> products_of(const std::vector<float>& x, int64_t shifts) {
  Problem p({kProducts, 1, static_cast<int64_t>(x.size()), 1, shifts});
  std::copy(x.begin(), x.end(), p.x.as<float>());
  return values(solve(p).y);
}

TEST(FeatureMapTest, ProductsByHand) {
  // relu([x, -x]) is [1, 0, 0, 2], and [1, 0, 3, 0, 2, 0].
  EXPECT_EQ(products_of({1.0F, -2.0F}, 3), (std::vector<double>{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(products_of({1.0F, -2.0F, 3.0F}, 2), (std::vector<double>{0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 6, 0}));
}

TEST(FeatureMapTest, ProductsHaveNoGradientAtZero) {
  Problem p({kProducts, 1, 3, 1, 5});
  p.x.as<float>()[1] = 0.0F;
  const std::vector<double> dx = values(solve(p).dx);
  EXPECT_NE(dx[0], 0.0);
  EXPECT_EQ(dx[1], 0.0);
  EXPECT_NE(dx[2], 0.0);
}

TEST(FeatureMapTest, NaNStaysInItsRow) {
  for (const FeatureFormula formula : kFormulas) {
    Problem p(case_of(formula, 3, 9));
    SCOPED_TRACE(p.c.text());
    (p.c.has_x() ? p.x : p.projections).as<float>()[13] = NAN;
    p.dy.as<float>()[p.c.features() + 2] = NAN;
    const Solution s = solve(p);
    const auto expect_in_row = [&](const std::string& what, const TestTensor& tensor) {
      const std::vector<double> found = values(tensor);
      const size_t columns = found.size() / 3;
      size_t in_row = 0;
      for (size_t e = 0; e < found.size(); ++e) {
        in_row += static_cast<size_t>(std::isnan(found[e]) && e / columns == 1);
        EXPECT_TRUE(std::isfinite(found[e]) || e / columns == 1) << what << e;
      }
      EXPECT_GT(in_row, 0) << what;
    };
    expect_in_row("y", s.y);
    if (p.c.has_x()) expect_in_row("dx", s.dx);
    if (p.c.has_projections()) expect_in_row("dprojections", s.dprojections);
  }
}

TEST(FeatureMapTest, ThreadsDoNotChangeABit) {
  for (const FeatureFormula formula : kFormulas) {
    const Problem p(case_of(formula, 1001, 48));
    SCOPED_TRACE(p.c.text());
    const Solution once = solve(p, 1);
    for (const int threads : {2, 3}) {
      const Solution s = solve(p, threads);
      expect_identical("y", s.y.view(), once.y.view());
      if (p.c.has_x()) expect_identical("dx", s.dx.view(), once.dx.view());
      if (p.c.has_projections()) expect_identical("dp", s.dprojections.view(), once.dprojections.view());
    }
  }
}

TEST(FeatureMapTest, OraclesGradientsAreTheComplexStep) {
  for (const FeatureFormula formula : kFormulas) {
    Problem p(case_of(formula, 3, 5));
    SCOPED_TRACE(p.c.text());
    p.projections.as<float>()[1] = 50.0F;
    p.projections.as<float>()[2] = -60.0F;
    const oracle::FeatureMapProblem<double> in = p.oracles();
    const std::vector<double> dy = values(p.dy);
    const oracle::FeatureMapGradients found = oracle::feature_map_gradients(in, dy);
    const auto loss = [&](const ComplexVector& x, const ComplexVector& projections) {
      return weighted_sum(oracle::feature_map<std::complex<double>>(
                              {in.formula, in.rows, in.width, in.projected, in.shifts, in.scale, x, projections}),
                          dy);
    };
    const ComplexVector x(in.x.begin(), in.x.end()), projections(in.projections.begin(), in.projections.end());
    const auto of_x = [&](const ComplexVector& at) { return loss(at, projections); };
    const auto of_projections = [&](const ComplexVector& at) { return loss(x, at); };
    expect_close("dx", found.x, complex_step_gradient(in.x, of_x), kComplexStep);
    expect_close("dprojections", found.projections, complex_step_gradient(in.projections, of_projections),
                 kComplexStep);
  }
}

TEST(FeatureMapTest, TakesNoRows) {
  Queue queue(test_device(), 1);
  const TestTensor x(DType::kFloat32, {0, 3});
  TestTensor y(DType::kFloat32, {0, 4});
  feature_map_forward(queue, {.inputs = {.formula = kWithOne, .x = x.view()}, .y = y.view()});
}

TEST(FeatureMapTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3}), p(DType::kFloat32, {2, 4}), y(DType::kFloat32, {2, 4});
  TestTensor wide(DType::kFloat32, {2, kMaxFeatures + 1}), half(DType::kBFloat16, {2, 4});
  const auto expect_refused = [&](const FeatureMapInputs& in, const std::vector<std::string>& words) {
    expect_contract_error([&] { feature_map_forward(queue, {.inputs = in, .y = y.view()}); }, words);
  };
  expect_refused({.formula = kExponential, .x = x.view()}, {"projections", "[2, 0]"});
  expect_refused({.formula = kExponential, .projections = p.view()}, {"x", "2 extents"});
  expect_refused({.formula = kExponential, .x = x.view(), .projections = half.view()}, {"projections", "float32"});
  expect_refused({.formula = kExponential, .x = x.view(), .projections = wide.view()}, {"M", "at most 512"});
  expect_refused({.formula = kWave, .x = x.view(), .projections = p.view()}, {"x", "projections alone"});
  expect_refused({.formula = kWithOne, .x = x.view(), .projections = p.view()}, {"projections", "has none"});
  expect_refused({.formula = kWithOne, .x = wide.view()}, {"H", "at most 512"});
  expect_refused({.formula = kWithOne, .shifts = 1, .x = x.view()}, {"shifts", "0 but with kProducts"});
  expect_refused({.formula = kExponential, .scale = 0.0F, .x = x.view(), .projections = p.view()},
                 {"scale", "above 0"});
  expect_refused({.formula = kWithOne, .scale = 2.0F, .x = x.view()}, {"scale", "1 but with kExponential"});
  expect_refused({.formula = kProducts, .x = x.view()}, {"shifts", "1 to 5", "found 0"});
  expect_refused({.formula = kProducts, .shifts = 6, .x = x.view()}, {"shifts", "1 to 5", "found 6"});
  expect_refused({.formula = kProducts, .shifts = 2, .x = x.view()}, {"y", "[2, 12]"});
  expect_refused({.formula = kExponential, .x = x.view(), .projections = y.view()}, {"y", "projections", "overlap"});
  const TestTensor many(DType::kFloat32, {2, 100});
  expect_refused({.formula = kProducts, .shifts = 3, .x = many.view()}, {"K", "at most 512"});

  TestTensor dy(DType::kFloat32, {2, 4}), dx(DType::kFloat32, {2, 3}), dp(DType::kFloat32, {2, 4});
  const FeatureMapInputs exponential{.formula = kExponential, .x = x.view(), .projections = p.view()};
  const FeatureMapInputs with_one{.formula = kWithOne, .x = x.view()};
  const auto expect_backward_refused = [&](const FeatureMapBackward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { feature_map_backward(queue, args); }, words);
  };
  expect_backward_refused({exponential, {}, dy.view(), dx.view(), dp.view()}, {"y", "[2, 4]"});
  expect_backward_refused({exponential, y.view(), dy.view(), {}, dp.view()}, {"dx", "[2, 3]"});
  expect_backward_refused({exponential, y.view(), dy.view(), dx.view(), dy.view()}, {"dprojections", "dy"});
  expect_backward_refused({exponential, y.view(), dy.view(), dx.view(), y.view()}, {"dprojections", "y"});
  expect_backward_refused({with_one, {}, dy.view(), dx.view(), dp.view()}, {"dprojections", "no projections"});
  expect_backward_refused({with_one, {}, dy.view(), x.view(), {}}, {"dx", "x"});
}

}  // namespace

}  // namespace segue::kernels
