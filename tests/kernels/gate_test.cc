// Gates of a state: all formulas, in both precisions, and where exponentials would overflow.
#include "kernels/gate.h"

#include <fmt/format.h>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/gate.h"

namespace segue::kernels {

namespace {

constexpr std::array kFormulas = {GateFormula::kShare, GateFormula::kStep, GateFormula::kDecay, GateFormula::kRest};

struct Problem {
  GateFormula formula;
  TestTensor x, bias, rate, dgates;

  Problem(GateFormula of, const Shape& shape, DType dtype)
      : formula(of),
        x(cast(random_tensor(shape, 1, 2.0), dtype)),
        bias(random_tensor({shape[1]}, 2)),
        rate(has_rate(of) ? random_tensor({shape[1]}, 3) : TestTensor()),
        dgates(random_tensor(shape, 4)) {}
  ConstTensorView rates() const { return has_rate(formula) ? rate.view() : ConstTensorView{}; }
};

struct Solution {
  TestTensor gates, dx, dbias, drate;
  bool learns_rate;

  explicit Solution(const Problem& of)
      : gates(unset_tensor(of.x.shape())),
        dx(cast(unset_tensor(of.x.shape()), of.x.view().dtype)),
        dbias(filled_tensor({of.x.shape()[1]}, 1.0F)),
        drate(filled_tensor({of.x.shape()[1]}, 2.0F)),
        learns_rate(has_rate(of.formula)) {}
};

Solution solve(const Problem& p, int threads = 2) {
  Queue queue(test_device(), threads);
  Solution y(p);
  gate_forward(
      queue,
      {.formula = p.formula, .x = p.x.view(), .bias = p.bias.view(), .rate = p.rates(), .gates = y.gates.view()});
  gate_backward(queue, {.formula = p.formula,
                        .x = p.x.view(),
                        .bias = p.bias.view(),
                        .rate = p.rates(),
                        .dgates = p.dgates.view(),
                        .dx = y.dx.view(),
                        .dbias = y.dbias.view(),
                        .drate = y.learns_rate ? y.drate.view() : TensorView{}});
  return y;
}

TEST(GateTest, EqualsTheOracle) {
  for (const GateFormula formula : kFormulas) {
    for (const Shape& shape : {Shape{1, 1}, Shape{37, 3}, Shape{5, 64}, Shape{130, 72}, Shape{3, 1000}}) {
      for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
        SCOPED_TRACE(fmt::format("formula {} {} {}", static_cast<int>(formula), shape.text(), name_of(dtype)));
        const Problem p(formula, shape, dtype);
        const Solution y = solve(p);
        const std::vector<double> x = values(p.x), bias = values(p.bias), rate = oracle_values(p.rates());
        expect_close("gates", y.gates.view(), oracle::gates(formula, x, bias, rate), kElementwise);
        oracle::GateGradients expected = oracle::gate_gradients(formula, x, bias, rate, values(p.dgates));
        for (double& sum : expected.bias) sum += 1.0;
        for (double& sum : expected.rate) sum += 2.0;
        if (dtype == DType::kBFloat16) {
          expect_near_as_naive("dx", y.dx.view(), expected.x, rounded(expected.x), kBFloat16Gradient);
        } else {
          expect_close("dx", y.dx.view(), expected.x, kElementwise);
        }
        expect_close("dbias", y.dbias.view(), expected.bias, kReduction, largest(expected.x));
        if (y.learns_rate) expect_close("drate", y.drate.view(), expected.rate, kReduction);
      }
    }
  }
}

TEST(GateTest, IsFiniteWhateverIsFinite) {
  for (const GateFormula formula : kFormulas) {
    Problem p(formula, {4, 4}, DType::kFloat32);
    for (int64_t r = 0; r < 4; ++r) {
      for (int64_t c = 0; c < 4; ++c) p.x.as<float>()[4 * r + c] = std::array{-1e30F, -200.0F, 200.0F, 1e20F}[c];
      p.bias.as<float>()[r] = 0.0F;
      if (has_rate(formula)) p.rate.as<float>()[r] = std::array{-1e30F, -100.0F, 1000.0F, 10.0F}[r];
    }
    const Solution y = solve(p);
    for (const TestTensor* tensor : {&y.gates, &y.dx, &y.dbias, &y.drate})
      for (const double value : values(*tensor)) EXPECT_TRUE(std::isfinite(value)) << value;
    for (const double gate : values(y.gates))
      EXPECT_TRUE(formula == GateFormula::kDecay ? gate <= 0.0
                                                 : gate >= 0.0 && (gate <= 1.0 || formula == GateFormula::kStep))
          << gate;
  }
}

TEST(GateTest, PassesNaNOn) {
  for (const GateFormula formula : kFormulas) {
    Problem p(formula, {2, 5}, DType::kFloat32);
    p.x.as<float>()[6] = NAN;
    const Solution y = solve(p);
    const std::vector<double> gates = values(y.gates), dx = values(y.dx);
    for (size_t e = 0; e < gates.size(); ++e) {
      EXPECT_EQ(std::isnan(gates[e]), e == 6) << e;
      EXPECT_EQ(std::isnan(dx[e]), e == 6) << e;
    }
  }
}

TEST(GateTest, ThreadsDoNotChangeABit) {
  const Problem p(GateFormula::kDecay, {301, 200}, DType::kFloat32);
  const Solution once = solve(p, 1);
  for (const int threads : {2, 3}) {
    const Solution y = solve(p, threads);
    expect_identical("gates", y.gates.view(), once.gates.view());
    expect_identical("dx", y.dx.view(), once.dx.view());
    expect_identical("dbias", y.dbias.view(), once.dbias.view());
    expect_identical("drate", y.drate.view(), once.drate.view());
  }
}

TEST(GateTest, OraclesGradientsAreTheComplexStep) {
  for (const GateFormula formula : kFormulas) {
    const bool decays = has_rate(formula);
    const std::vector<double> x = values(random_tensor({3, 7}, 1)), bias = values(random_tensor({7}, 2)),
                              dgates = values(random_tensor({3, 7}, 4)),
                              rate = decays ? values(random_tensor({7}, 3)) : std::vector<double>();
    const auto complex = [](const std::vector<double>& real) { return ComplexVector(real.begin(), real.end()); };
    const oracle::GateGradients found = oracle::gate_gradients(formula, x, bias, rate, dgates);
    const auto loss = [&](const ComplexVector& with_x, const ComplexVector& with_bias, const ComplexVector& with_rate) {
      return weighted_sum(oracle::gates(formula, with_x, with_bias, with_rate), dgates);
    };
    const auto of_x = [&](const ComplexVector& at) { return loss(at, complex(bias), complex(rate)); };
    const auto of_bias = [&](const ComplexVector& at) { return loss(complex(x), at, complex(rate)); };
    const auto of_rate = [&](const ComplexVector& at) { return loss(complex(x), complex(bias), at); };
    expect_close("dx", found.x, complex_step_gradient(x, of_x), kComplexStep);
    expect_close("dbias", found.bias, complex_step_gradient(bias, of_bias), kComplexStep);
    if (decays) expect_close("drate", found.rate, complex_step_gradient(rate, of_rate), kComplexStep);
  }
}

TEST(GateTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3}), bias(DType::kFloat32, {3}), gates(DType::kFloat32, {2, 3});
  TestTensor dx(DType::kFloat32, {2, 3}), dbias(DType::kFloat32, {3});
  expect_contract_error(
      [&] {
        gate_forward(
            queue,
            {.formula = GateFormula::kDecay, .x = x.view(), .bias = bias.view(), .rate = {}, .gates = gates.view()});
      },
      {"rate", "[3]"});
  expect_contract_error(
      [&] {
        gate_forward(queue, {.formula = GateFormula::kShare,
                             .x = x.view(),
                             .bias = bias.view(),
                             .rate = bias.view(),
                             .gates = gates.view()});
      },
      {"rate", "the formula has none"});
  expect_contract_error(
      [&] {
        gate_backward(queue, {.formula = GateFormula::kShare,
                              .x = x.view(),
                              .bias = bias.view(),
                              .rate = {},
                              .dgates = gates.view(),
                              .dx = x.view(),
                              .dbias = dbias.view(),
                              .drate = {}});
      },
      {"dx", "x"});
}

}  // namespace

}  // namespace segue::kernels
