// Gates of elements: with and without each part, in both precisions, and where a gate is all or nothing.
#include "kernels/element_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/element_gate.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

constexpr float kBiasFactor = -1.5F;

struct Parts {
  bool is_bounded, has_b, has_logits, has_bias;
};
constexpr Parts kAll{.is_bounded = true, .has_b = true, .has_logits = true, .has_bias = true};
constexpr std::array kParts = {kAll,
                               Parts{false, true, true, false},
                               Parts{true, false, true, true},
                               Parts{true, true, true, false},
                               Parts{false, false, true, true},
                               Parts{false, true, false, true}};

struct Problem {
  Parts parts;
  TestTensor a, b, logits, bias, dy, before, dbias;

  Problem(const Parts& of, const Shape& shape, DType dtype)
      : parts(of),
        a(cast(random_tensor(shape, 1), dtype)),
        b(cast(random_tensor(shape, 2), dtype)),
        logits(cast(random_tensor(shape, 3), dtype)),
        bias(random_tensor({shape[1]}, 4)),
        dy(cast(random_tensor(shape, 5), dtype)),
        before(cast(random_tensor(shape, 6), dtype)),
        dbias(random_tensor({shape[1]}, 7)) {}

  ElementGateInputs inputs() const {
    return {.a = a.view(),
            .is_bounded = parts.is_bounded,
            .b = parts.has_b ? b.view() : ConstTensorView{},
            .logits = parts.has_logits ? logits.view() : ConstTensorView{},
            .bias = parts.has_bias ? bias.view() : ConstTensorView{},
            .bias_factor = kBiasFactor};
  }
  oracle::ElementGate<double> exact() const {
    const std::vector<double> none;
    return {.columns = static_cast<size_t>(a.shape()[1]),
            .is_bounded = parts.is_bounded,
            .bias_factor = static_cast<double>(kBiasFactor),
            .a = values(a),
            .b = parts.has_b ? values(b) : none,
            .logits = parts.has_logits ? values(logits) : none,
            .bias = parts.has_bias ? values(bias) : none};
  }
};

struct Solution {
  TestTensor y, da, db, dlogits, dbias;
};

// Adds to what was there before, or overwrites it.
Solution solve(const Problem& p, bool accumulate, int threads = 2) {
  Queue queue(test_device(), threads);
  const auto gradient = [&] {
    return copy_of(accumulate ? p.before.view() : cast(unset_tensor(p.a.shape()), p.a.view().dtype).view());
  };
  Solution s{gradient(), gradient(), gradient(), gradient(), copy_of(p.dbias.view())};
  const auto wanted = [&](TestTensor& to, bool is_wanted) {
    return ElementGateGradient{is_wanted ? to.view() : TensorView{}, accumulate};
  };
  element_gate_forward(queue, {.in = p.inputs(), .y = s.y.view()});
  element_gate_backward(queue, {.in = p.inputs(),
                                .dy = p.dy.view(),
                                .da = wanted(s.da, true),
                                .db = wanted(s.db, p.parts.has_b),
                                .dlogits = wanted(s.dlogits, p.parts.has_logits),
                                .dbias = p.parts.has_bias ? s.dbias.view() : TensorView{}});
  return s;
}

TEST(ElementGateTest, EqualsTheOracle) {
  for (const Parts& parts : kParts) {
    for (const Shape& shape : {Shape{1, 1}, Shape{37, 3}, Shape{5, 64}, Shape{130, 72}, Shape{4, 5}, Shape{3, 1000}}) {
      for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
        const bool accumulate = shape[0] % 2 == 0 || shape[1] == 1000;
        SCOPED_TRACE(fmt::format("bounded {}, b {}, logits {}, bias {}, {}, {}", parts.is_bounded, parts.has_b,
                                 parts.has_logits, parts.has_bias, shape.text(), name_of(dtype)));
        const Problem p(parts, shape, dtype);
        const Solution s = solve(p, accumulate);
        const oracle::ElementGateGradients expected = oracle::element_gate_gradients(p.exact(), values(p.dy));
        const auto expect = [&](const char* what, const TestTensor& found, const std::vector<double>& wanted,
                                double factor) {
          const std::vector<double> sum =
              accumulate && found.view().data != s.y.view().data ? oracle::sum_of(values(p.before), wanted) : wanted;
          if (dtype == DType::kBFloat16) return expect_near_as_naive(what, found.view(), sum, rounded(sum), factor);
          expect_close(what, found.view(), sum, kElementwise, largest(values(p.a)));
        };
        expect("y", s.y, oracle::element_gate(p.exact()), kBFloat16Output);
        expect("da", s.da, expected.a, kBFloat16Gradient);
        if (parts.has_b) expect("db", s.db, expected.b, kBFloat16Gradient);
        if (parts.has_logits) expect("dlogits", s.dlogits, expected.logits, kBFloat16Gradient);
        if (parts.has_bias)
          expect_close("dbias", s.dbias.view(), oracle::sum_of(values(p.dbias), expected.bias), kReduction,
                       largest(expected.logits));
      }
    }
  }
}

// Gradients that nobody wants change none of the others.
TEST(ElementGateTest, LeavesOutWhatNobodyWants) {
  const Problem p(kAll, {34, 40}, DType::kFloat32);
  const Solution all = solve(p, false);
  Queue queue(test_device(), 2);
  TestTensor dlogits = unset_tensor(p.a.shape());
  element_gate_backward(queue, {.in = p.inputs(), .dy = p.dy.view(), .dlogits = {.to = dlogits.view()}});
  expect_identical("dlogits", dlogits.view(), all.dlogits.view());
  TestTensor dbias = copy_of(p.dbias.view());
  element_gate_backward(queue, {.in = p.inputs(), .dy = p.dy.view(), .dbias = dbias.view()});
  expect_identical("dbias", dbias.view(), all.dbias.view());
}

// The rest of a gate next to 1 is what it is, not what rounding leaves of 1.
TEST(ElementGateTest, GatesOfAlmostAllAndNothing) {
  constexpr std::array kLogits = {-200.0F, -30.0F, 30.0F, 200.0F};
  Problem p({.is_bounded = false, .has_b = true, .has_logits = true, .has_bias = false}, {5, kLogits.size()},
            DType::kFloat32);
  for (int64_t e = 0; e < p.logits.shape().elements(); ++e)
    p.logits.as<float>()[e] = kLogits[static_cast<size_t>(e) % kLogits.size()];
  const Solution s = solve(p, false);
  const std::vector<double> y = values(s.y), da = values(s.da), db = values(s.db), dy = values(p.dy);
  for (size_t e = 0; e < y.size(); ++e) {
    const size_t n = e % kLogits.size();
    EXPECT_NEAR(y[e], values(n < 2 ? p.b : p.a)[e], 1e-6) << e;
    const double small = n % 3 == 0 ? 0.0 : std::exp(-30.0) * dy[e];
    EXPECT_NEAR(n < 2 ? da[e] : db[e], small, 1e-6 * std::abs(small)) << e;
    EXPECT_EQ(n < 2 ? db[e] : da[e], dy[e]) << e;
  }
}

TEST(ElementGateTest, IsFiniteWhateverIsFinite) {
  Problem p({.is_bounded = true, .has_b = true, .has_logits = true, .has_bias = false}, {2, 4}, DType::kFloat32);
  constexpr std::array kValues = {-1e30F, -20.0F, 20.0F, 1e30F};
  for (size_t e = 0; e < 8; ++e) {
    p.a.as<float>()[e] = kValues[e % 4];
    p.logits.as<float>()[e] = kValues[3 - e / 2];
  }
  const Solution s = solve(p, false);
  for (const TestTensor* tensor : {&s.y, &s.da, &s.db, &s.dlogits})
    for (const double value : values(*tensor)) EXPECT_TRUE(std::isfinite(value)) << value;
}

TEST(ElementGateTest, NaNStaysInItsElement) {
  for (const bool of_logit : {false, true}) {
    Problem p(kAll, {3, 5}, DType::kFloat32);
    (of_logit ? p.logits : p.a).as<float>()[7] = NAN;
    const Solution s = solve(p, false);
    const std::vector<double> y = values(s.y), dlogits = values(s.dlogits), dbias = values(s.dbias);
    for (size_t e = 0; e < y.size(); ++e) {
      EXPECT_EQ(std::isnan(y[e]), e == 7) << e;
      EXPECT_EQ(std::isnan(dlogits[e]), e == 7) << e;
    }
    for (size_t c = 0; c < dbias.size(); ++c) EXPECT_EQ(std::isnan(dbias[c]), c == 2) << c;
  }
}

TEST(ElementGateTest, ThreadsDoNotChangeABit) {
  const Problem p(kAll, {301, 200}, DType::kFloat32);
  const Solution once = solve(p, true, 1);
  for (const int threads : {2, 3}) {
    const Solution s = solve(p, true, threads);
    expect_identical("y", s.y.view(), once.y.view());
    expect_identical("da", s.da.view(), once.da.view());
    expect_identical("db", s.db.view(), once.db.view());
    expect_identical("dlogits", s.dlogits.view(), once.dlogits.view());
    expect_identical("dbias", s.dbias.view(), once.dbias.view());
  }
}

TEST(ElementGateTest, OraclesGradientsAreTheComplexStep) {
  for (const Parts& parts : kParts) {
    const Problem p(parts, {3, 5}, DType::kFloat32);
    const oracle::ElementGate<double> real = p.exact();
    const std::vector<double> dy = values(p.dy);
    const oracle::ElementGateGradients found = oracle::element_gate_gradients(real, dy);
    const auto complex = [](const std::vector<double>& of) { return ComplexVector(of.begin(), of.end()); };
    const oracle::ElementGate<ComplexVector::value_type> at{.columns = real.columns,
                                                            .is_bounded = real.is_bounded,
                                                            .bias_factor = real.bias_factor,
                                                            .a = complex(real.a),
                                                            .b = complex(real.b),
                                                            .logits = complex(real.logits),
                                                            .bias = complex(real.bias)};
    const auto check = [&](const char* what, const std::vector<double>& gradient, const std::vector<double>& from,
                           ComplexVector oracle::ElementGate<ComplexVector::value_type>::*part) {
      if (from.empty()) return;
      const auto loss = [&](const ComplexVector& moved) {
        oracle::ElementGate<ComplexVector::value_type> there = at;
        there.*part = moved;
        return weighted_sum(oracle::element_gate(there), dy);
      };
      expect_close(what, gradient, complex_step_gradient(from, loss), kComplexStep);
    };
    using Complex = oracle::ElementGate<ComplexVector::value_type>;
    check("da", found.a, real.a, &Complex::a);
    check("db", found.b, real.b, &Complex::b);
    check("dlogits", found.logits, real.logits, &Complex::logits);
    check("dbias", found.bias, real.bias, &Complex::bias);
  }
}

TEST(ElementGateTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor a(DType::kFloat32, {2, 3}), b(DType::kFloat32, {2, 3}), logits(DType::kFloat32, {2, 3});
  TestTensor y(DType::kFloat32, {2, 3}), other(DType::kFloat32, {3, 2}), bias(DType::kFloat32, {3});
  const auto refused = [&](const ElementGateForward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { element_gate_forward(queue, args); }, words);
  };
  refused({.in = {.a = a.view()}, .y = y.view()}, {"logits", "[2, 3]"});
  refused({.in = {.a = a.view(), .b = other.view(), .logits = logits.view()}, .y = y.view()}, {"b", "[3, 2]"});
  refused({.in = {.a = a.view(), .bias = y.view()}, .y = y.view()}, {"bias", "[3]"});
  refused({.in = {.a = a.view(), .bias = bias.view()}, .y = a.view()}, {"y", "a", "overlap"});
  const auto backward_refused = [&](const ElementGateBackward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { element_gate_backward(queue, args); }, words);
  };
  const ElementGateInputs in{.a = a.view(), .logits = logits.view()};
  backward_refused({.in = in, .dy = other.view(), .da = {.to = y.view()}}, {"dy", "[2, 3]"});
  backward_refused({.in = in, .dy = b.view(), .db = {.to = y.view()}}, {"db", "there is no b"});
  backward_refused({.in = in, .dy = b.view(), .dbias = bias.view()}, {"dbias", "there is no bias"});
  backward_refused({.in = {.a = a.view(), .bias = bias.view()}, .dy = b.view(), .dlogits = {.to = y.view()}},
                   {"dlogits", "there are no logits"});
  backward_refused({.in = in, .dy = b.view(), .da = {.to = b.view()}}, {"da", "dy", "overlap"});
  backward_refused({.in = in, .dy = b.view(), .da = {.to = y.view()}, .dlogits = {.to = y.view()}},
                   {"dlogits", "da", "overlap"});
}

}  // namespace

}  // namespace segue::kernels
