// Activation, norm, gain and gate of heads: every activation with every norm against complex steps of the formulas.
#include "kernels/head_norm.h"

#include <fmt/format.h>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/head_norm.h"

namespace segue::kernels {

namespace {

struct Case {
  Feature feature;
  HeadNorm norm;
  bool has_gain, has_gate;
  Shape shape;
  DType dtype = DType::kFloat32;

  std::string text() const {
    return fmt::format("feature {} norm {}{}{} {} {}", static_cast<int>(feature), static_cast<int>(norm),
                       has_gain ? " gain" : "", has_gate ? " gate" : "", shape.text(), name_of(dtype));
  }
};

struct Problem {
  Case c;
  TestTensor x, gain, gate, dy;

  explicit Problem(const Case& of)
      : c(of),
        x(cast(random_tensor(of.shape, 1), of.dtype)),
        gain(random_tensor({of.shape[1]}, 2)),
        gate(cast(random_tensor(of.shape, 3), of.dtype)),
        dy(cast(random_tensor(of.shape, 4), of.dtype)) {}

  HeadNormInputs inputs() const {
    return {.feature = c.feature,
            .norm = c.norm,
            .epsilon = 1e-3F,
            .x = x.view(),
            .gain = c.has_gain ? gain.view() : ConstTensorView{},
            .gate = c.has_gate ? gate.view() : ConstTensorView{}};
  }
  oracle::HeadNormProblem<double> oracles() const {
    return {.feature = c.feature,
            .norm = c.norm,
            .epsilon = static_cast<double>(1e-3F),
            .width = static_cast<size_t>(c.shape[1]),
            .x = values(x),
            .gain = c.has_gain ? values(gain) : std::vector<double>(),
            .gate = c.has_gate ? values(gate) : std::vector<double>()};
  }
};

struct Solution {
  TestTensor y, scale, dx, dgain, dgate;

  explicit Solution(const Case& c)
      : y(cast(unset_tensor(c.shape), c.dtype)),
        scale(unset_tensor({c.shape[0]})),
        dx(cast(unset_tensor(c.shape), c.dtype)),
        dgain(filled_tensor({c.shape[1]}, 1.0F)),
        dgate(cast(unset_tensor(c.shape), c.dtype)) {}
};

Solution solve(const Problem& p, int threads = 2) {
  Queue queue(test_device(), threads);
  Solution s(p.c);
  const TensorView scale = p.c.norm == HeadNorm::kNone ? TensorView{} : s.scale.view();
  head_norm_forward(queue, {.inputs = p.inputs(), .y = s.y.view(), .scale = scale});
  head_norm_backward(queue, {.inputs = p.inputs(),
                             .scale = scale,
                             .dy = p.dy.view(),
                             .dx = s.dx.view(),
                             .dgain = p.c.has_gain ? s.dgain.view() : TensorView{},
                             .dgate = p.c.has_gate ? s.dgate.view() : TensorView{}});
  return s;
}

// Gradients of the sum of y weighted by dy.
struct Gradients {
  std::vector<double> x, gain, gate;

  explicit Gradients(const Problem& p) {
    const oracle::HeadNormProblem<double> in = p.oracles();
    const std::vector<double> dy = values(p.dy);
    const auto loss = [&](const ComplexVector& x_at, const ComplexVector& gain_at, const ComplexVector& gate_at) {
      return weighted_sum(
          oracle::head_norm<std::complex<double>>({in.feature, in.norm, in.epsilon, in.width, x_at, gain_at, gate_at}),
          dy);
    };
    const auto complex = [](const std::vector<double>& real) { return ComplexVector(real.begin(), real.end()); };
    const ComplexVector x_is = complex(in.x), gain_is = complex(in.gain), gate_is = complex(in.gate);
    x = complex_step_gradient(in.x, [&](const ComplexVector& at) { return loss(at, gain_is, gate_is); });
    gain = complex_step_gradient(in.gain, [&](const ComplexVector& at) { return loss(x_is, at, gate_is); });
    gate = complex_step_gradient(in.gate, [&](const ComplexVector& at) { return loss(x_is, gain_is, at); });
    for (double& sum : gain) sum += 1.0;
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Feature feature : {Feature::kIdentity, Feature::kSilu, Feature::kRelu, Feature::kEluPlusOne}) {
    for (const HeadNorm norm : {HeadNorm::kNone, HeadNorm::kUnit, HeadNorm::kRootMeanSquare}) {
      all.push_back({feature, norm, false, false, {5, 16}});
      all.push_back({feature, norm, true, true, {3, 9}});
    }
  }
  all.push_back({Feature::kSilu, HeadNorm::kUnit, true, false, {130, 4}});
  all.push_back({Feature::kIdentity, HeadNorm::kRootMeanSquare, false, true, {2, 64}});
  all.push_back({Feature::kIdentity, HeadNorm::kRootMeanSquare, true, true, {2, 132}});
  all.push_back({Feature::kRelu, HeadNorm::kNone, true, true, {1, 1}});
  return all;
}

TEST(HeadNormTest, EqualsTheOracle) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text());
    const Problem p(c);
    const Solution s = solve(p);
    expect_close("y", s.y.view(), oracle::head_norm(p.oracles()), kReduction);
    const Gradients expected(p);
    expect_close("dx", s.dx.view(), expected.x, kReduction, 1.0);
    if (c.has_gain) expect_close("dgain", s.dgain.view(), expected.gain, kReduction, 1.0);
    if (c.has_gate) expect_close("dgate", s.dgate.view(), expected.gate, kReduction, 1.0);
  }
}

TEST(HeadNormTest, EqualsTheOracleInBFloat16) {
  for (const Feature feature : {Feature::kIdentity, Feature::kSilu}) {
    const Problem p({feature, HeadNorm::kRootMeanSquare, true, true, {6, 16}, DType::kBFloat16});
    const Solution s = solve(p);
    const std::vector<double> y = oracle::head_norm(p.oracles());
    expect_near_as_naive("y", s.y.view(), y, rounded(y), kBFloat16Gradient);
    const Gradients expected(p);
    expect_near_as_naive("dx", s.dx.view(), expected.x, rounded(expected.x), kBFloat16Gradient);
    expect_near_as_naive("dgate", s.dgate.view(), expected.gate, rounded(expected.gate), kBFloat16Gradient);
    expect_close("dgain", s.dgain.view(), expected.gain, kReduction, 1.0);
  }
}

TEST(HeadNormTest, WidestRowsHaveUnitLength) {
  for (const int64_t width : {int64_t{511}, kMaxHeadNormWidth}) {
    const Problem p({Feature::kIdentity, HeadNorm::kUnit, false, false, {3, width}});
    const std::vector<double> y = values(solve(p).y);
    for (int64_t r = 0; r < 3; ++r) {
      double squares = 0.0;
      for (int64_t h = 0; h < width; ++h) squares += y[r * width + h] * y[r * width + h];
      EXPECT_NEAR(squares, 1.0, 1e-4);  // epsilon
    }
  }
}

TEST(HeadNormTest, ThreadsDoNotChangeABit) {
  const Problem p({Feature::kSilu, HeadNorm::kRootMeanSquare, true, true, {1001, 48}});
  const Solution once = solve(p, 1);
  for (const int threads : {2, 3}) {
    const Solution s = solve(p, threads);
    expect_identical("y", s.y.view(), once.y.view());
    expect_identical("dx", s.dx.view(), once.dx.view());
    expect_identical("dgain", s.dgain.view(), once.dgain.view());
    expect_identical("dgate", s.dgate.view(), once.dgate.view());
  }
}

TEST(HeadNormTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3}), y(DType::kFloat32, {2, 3}), scale(DType::kFloat32, {2});
  TestTensor wide(DType::kFloat32, {1, kMaxHeadNormWidth + 1});
  expect_contract_error(
      [&] { head_norm_forward(queue, {.inputs = {.x = x.view()}, .y = y.view(), .scale = scale.view()}); },
      {"scale", "there is no norm"});
  expect_contract_error(
      [&] {
        head_norm_forward(queue, {.inputs = {.norm = HeadNorm::kUnit, .x = x.view()}, .y = y.view(), .scale = {}});
      },
      {"scale", "[2]"});
  expect_contract_error(
      [&] { head_norm_forward(queue, {.inputs = {.x = wide.view()}, .y = wide.view(), .scale = {}}); },
      {"H", "at most 512"});
  expect_contract_error(
      [&] {
        head_norm_backward(
            queue, {.inputs = {.x = x.view()}, .scale = {}, .dy = y.view(), .dx = x.view(), .dgain = {}, .dgate = {}});
      },
      {"dx", "x"});
}

}  // namespace

}  // namespace segue::kernels
