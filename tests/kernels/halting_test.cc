// Adaptive computation time: all passes of some tokens against the oracle, and one pass alone.
#include "kernels/halting.h"

#include <fmt/format.h>

#include <array>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/halting.h"

namespace segue::kernels {

namespace {

constexpr float kEpsilon = 0.2F;
constexpr float kPonder = 0.75F;

struct Sizes {
  int64_t rows, width, passes;
};

// Tokens that pass rows of their own, which do not depend on one another.
struct PassesProblem {
  Sizes sizes;
  std::vector<TestTensor> logits, x;  // of each pass
  TestTensor bias, dsum, dy;          // dy: of what the last pass but one leaves

  PassesProblem(const Sizes& of, DType dtype)
      : sizes(of),
        bias(random_tensor({1}, 1)),
        dsum(random_tensor({of.rows, of.width}, 2)),
        dy(cast(random_tensor({of.rows, of.width}, 3), dtype)) {
    for (int64_t pass = 0; pass < of.passes; ++pass) {
      const auto site = static_cast<uint16_t>(10 + 2 * pass);
      logits.push_back(cast(random_tensor({of.rows}, site), dtype));
      x.push_back(cast(random_tensor({of.rows, of.width}, site + 1), dtype));
    }
  }
  DType dtype() const { return dy.view().dtype; }
  bool has_y(int64_t pass) const { return pass > 0 && pass + 1 < sizes.passes; }
};

struct PassesSolution {
  std::vector<TestTensor> weights, totals, y;  // of each pass: what it makes
  TestTensor sum, passes;
  std::vector<TestTensor> dlogits, dx;
  TestTensor dbias;
};

HaltingInputs inputs_of(const PassesProblem& p, const PassesSolution& s, int64_t pass) {
  return {.logits = p.logits[pass].view(),
          .bias = p.bias.view(),
          .totals = pass == 0 ? ConstTensorView() : s.totals[pass - 1].view(),
          .epsilon = kEpsilon,
          .is_last = pass + 1 == p.sizes.passes};
}

// The rows that a pass finds.
ConstTensorView found_by(const PassesProblem& p, const PassesSolution& s, int64_t pass) {
  return pass == 1 ? p.x[0].view() : s.y[pass - 1].view();
}

void run_forward(Queue& queue, const PassesProblem& p, PassesSolution& s) {
  const Shape rows{p.sizes.rows}, matrix{p.sizes.rows, p.sizes.width};
  s.sum = unset_tensor(matrix);
  s.passes = unset_tensor(rows);
  for (int64_t pass = 0; pass < p.sizes.passes; ++pass) {
    const bool is_last = pass + 1 == p.sizes.passes;
    s.weights.push_back(unset_tensor(rows));
    s.totals.push_back(unset_tensor(rows));
    s.y.push_back(cast(unset_tensor(matrix), p.dtype()));
    const HaltingInputs in = inputs_of(p, s, pass);
    halting_forward(queue, {.in = in,
                            .weights = s.weights[pass].view(),
                            .new_totals = is_last ? TensorView() : s.totals[pass].view(),
                            .passes = s.passes.view()});
    halted_rows_forward(queue, {.x = p.x[pass].view(),
                                .before = p.has_y(pass) ? found_by(p, s, pass) : ConstTensorView(),
                                .totals = in.totals,
                                .weights = s.weights[pass].view(),
                                .sum = s.sum.view(),
                                .y = p.has_y(pass) ? s.y[pass].view() : TensorView()});
  }
}

void run_backward(Queue& queue, const PassesProblem& p, PassesSolution& s) {
  const Shape rows{p.sizes.rows}, matrix{p.sizes.rows, p.sizes.width};
  for (int64_t pass = 0; pass < p.sizes.passes; ++pass) {
    s.dlogits.push_back(cast(unset_tensor(rows), p.dtype()));
    s.dx.push_back(cast(unset_tensor(matrix), p.dtype()));
  }
  s.dbias = filled_tensor({1}, 0.5F);
  TestTensor dtotals, arrived = copy_of(p.dy.view());
  bool reaches_first = false;  // whether a gradient of what the first pass leaves is there
  for (int64_t pass = p.sizes.passes - 1; pass >= 0; --pass) {
    const bool is_last = pass + 1 == p.sizes.passes;
    TestTensor dweights = unset_tensor(rows), next = cast(unset_tensor(matrix), p.dtype());
    const HaltingInputs in = inputs_of(p, s, pass);
    halted_rows_backward(queue, {.x = p.x[pass].view(),
                                 .totals = in.totals,
                                 .weights = s.weights[pass].view(),
                                 .dsum = p.dsum.view(),
                                 .dy = p.has_y(pass) ? arrived.view() : ConstTensorView(),
                                 .dx = s.dx[pass].view(),
                                 .accumulate_dx = pass == 0 && reaches_first,
                                 .dbefore = !p.has_y(pass) ? TensorView()
                                            : pass == 1    ? s.dx[0].view()
                                                           : next.view(),
                                 .dweights = dweights.view()});
    if (p.has_y(pass)) {
      arrived = std::move(next);
      reaches_first = true;
    }
    TestTensor before = unset_tensor(rows);
    halting_backward(queue, {.in = in,
                             .dweights = dweights.view(),
                             .dnew_totals = is_last ? ConstTensorView() : dtotals.view(),
                             .ponder = kPonder,
                             .dlogits = s.dlogits[pass].view(),
                             .dtotals = pass == 0 ? TensorView() : before.view(),
                             .dbias = s.dbias.view()});
    dtotals = std::move(before);
  }
}

PassesSolution solve(const PassesProblem& p, int threads = 2) {
  Queue queue(test_device(), threads);
  PassesSolution s;
  run_forward(queue, p, s);
  run_backward(queue, p, s);
  return s;
}

// All that is differentiated, of one pass after another: logits, then x.
template <typename Scalar>
struct Exact {
  Scalar bias;
  std::vector<std::vector<Scalar>> logits, x;
};

template <typename Scalar>
Exact<Scalar> exact(const PassesProblem& p) {
  Exact<Scalar> e{oracle_values<Scalar>(p.bias.view()).front(), {}, {}};
  for (const TestTensor& logits : p.logits) e.logits.push_back(oracle_values<Scalar>(logits.view()));
  for (const TestTensor& x : p.x) e.x.push_back(oracle_values<Scalar>(x.view()));
  return e;
}

template <typename Scalar>
struct Passed {
  oracle::Halting<Scalar> halting;
  std::vector<Scalar> y;  // what the last pass but one leaves
};

template <typename Scalar>
Passed<Scalar> passed(const PassesProblem& p, const Exact<Scalar>& e) {
  Passed<Scalar> all{{static_cast<size_t>(p.sizes.rows), static_cast<double>(kEpsilon), p.sizes.passes}, {}};
  std::vector<Scalar> rows = e.x.front();
  for (int64_t pass = 0; pass < p.sizes.passes; ++pass) {
    std::vector<Scalar> logits = e.logits[pass];
    for (Scalar& logit : logits) logit += e.bias;
    rows = all.halting.after_pass(logits, rows, e.x[pass]);
    if (p.has_y(pass)) all.y = rows;
  }
  return all;
}

// By complex steps: d/d of <dsum, sum> + <dy, y> + ponder Σ remainders.
std::vector<double> expected_gradient(const PassesProblem& p, const std::vector<double>& at,
                                      const std::function<ComplexVector&(Exact<ComplexVector::value_type>&)>& part) {
  Exact<ComplexVector::value_type> e = exact<ComplexVector::value_type>(p);
  return complex_step_gradient(at, [&](const ComplexVector& moved) {
    part(e) = moved;
    const Passed<ComplexVector::value_type> all = passed(p, e);
    return weighted_sum(all.halting.output(), values(p.dsum)) +
           (all.y.empty() ? 0.0 : weighted_sum(all.y, values(p.dy))) +
           static_cast<double>(kPonder) * static_cast<double>(p.sizes.rows) * all.halting.ponder();
  });
}

constexpr std::array kSizes = {Sizes{1, 1, 1}, Sizes{5, 3, 2}, Sizes{33, 8, 3}, Sizes{70, 37, 5}};

TEST(HaltingTest, EqualsTheOracle) {
  for (const Sizes& sizes : kSizes) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      SCOPED_TRACE(fmt::format("{} rows of {}, {} passes, {}", sizes.rows, sizes.width, sizes.passes, name_of(dtype)));
      const PassesProblem p(sizes, dtype);
      const PassesSolution s = solve(p);
      const Passed<double> all = passed(p, exact<double>(p));
      expect_close("sum", s.sum.view(), all.halting.output(), kReduction);
      const std::vector<int64_t>& taken = all.halting.taken();
      EXPECT_EQ(values(s.passes), std::vector<double>(taken.begin(), taken.end()));
      if (!all.y.empty()) {
        EXPECT_EQ(values(s.y[sizes.passes - 2]), all.y);
      }
    }
  }
}

TEST(HaltingTest, GradientsAreTheComplexStep) {
  for (const Sizes& sizes : kSizes) {
    if (sizes.rows > 40) continue;
    SCOPED_TRACE(fmt::format("{} rows of {}, {} passes", sizes.rows, sizes.width, sizes.passes));
    const PassesProblem p(sizes, DType::kFloat32);
    const PassesSolution s = solve(p);
    using Point = Exact<ComplexVector::value_type>;
    for (int64_t pass = 0; pass < sizes.passes; ++pass) {
      SCOPED_TRACE(pass);
      expect_close(
          "dlogits", s.dlogits[pass].view(),
          expected_gradient(p, values(p.logits[pass]), [pass](Point& e) -> ComplexVector& { return e.logits[pass]; }),
          kReduction);
      expect_close("dx", s.dx[pass].view(),
                   expected_gradient(p, values(p.x[pass]), [pass](Point& e) -> ComplexVector& { return e.x[pass]; }),
                   kReduction);
    }
    double dbias = 0.5;  // was there before
    for (const TestTensor& dlogits : s.dlogits)
      for (const double dlogit : values(dlogits)) dbias += dlogit;
    expect_close("dbias", s.dbias.view(), {dbias}, kReduction);
  }
}

// Also where only the last pass makes a token halt.
TEST(HaltingTest, WeightsSumToOne) {
  for (const float bias : {-30.0F, -2.0F, 0.0F, 30.0F}) {
    PassesProblem p({40, 4, 4}, DType::kFloat32);
    p.bias = filled_tensor({1}, bias);
    const PassesSolution s = solve(p);
    std::vector<double> sums(40, 0.0);
    for (const TestTensor& weights : s.weights)
      for (size_t t = 0; t < sums.size(); ++t) sums[t] += values(weights)[t];
    for (const double sum : sums) EXPECT_NEAR(sum, 1.0, 1e-6);
    for (const double taken : values(s.passes)) {
      EXPECT_LE(taken, bias > 10.0F ? 1.0 : 4.0);
      EXPECT_GE(taken, bias < -10.0F ? 4.0 : 1.0);
    }
  }
}

TEST(HaltingTest, NaNStaysWithItsToken) {
  PassesProblem p({6, 5, 3}, DType::kFloat32);
  p.logits[1].as<float>()[2] = NAN;
  p.bias = filled_tensor({1}, -1.0F);  // so that it has not halted
  const std::vector<double> sum = values(solve(p).sum);
  for (size_t e = 0; e < sum.size(); ++e) EXPECT_EQ(std::isnan(sum[e]), e / 5 == 2) << e;
}

TEST(HaltingTest, ThreadsDoNotChangeABit) {
  const PassesProblem p({701, 40, 4}, DType::kFloat32);
  const PassesSolution once = solve(p, 1);
  for (const int threads : {2, 3}) {
    const PassesSolution s = solve(p, threads);
    expect_identical("sum", s.sum.view(), once.sum.view());
    expect_identical("dbias", s.dbias.view(), once.dbias.view());
    for (size_t pass = 0; pass < s.dx.size(); ++pass) {
      expect_identical("dx", s.dx[pass].view(), once.dx[pass].view());
      expect_identical("dlogits", s.dlogits[pass].view(), once.dlogits[pass].view());
    }
  }
}

TEST(HaltingTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor a(DType::kFloat32, {4}), b(DType::kFloat32, {4}), c(DType::kFloat32, {4}), bias(DType::kFloat32, {1});
  TestTensor x(DType::kFloat32, {4, 3}), y(DType::kFloat32, {4, 3}), sum(DType::kFloat32, {4, 3});
  const HaltingInputs in{.logits = a.view(), .bias = bias.view()};
  const auto refused = [&](const HaltingForward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { halting_forward(queue, args); }, words);
  };
  refused({.in = in, .weights = b.view(), .passes = c.view()}, {"new_totals", "[4]"});
  refused({.in = {.logits = a.view(), .bias = bias.view(), .epsilon = 1.0F}, .weights = b.view(), .passes = c.view()},
          {"epsilon", "below 1"});
  refused({.in = {.logits = a.view(), .bias = bias.view(), .is_last = true},
           .weights = b.view(),
           .new_totals = c.view(),
           .passes = c.view()},
          {"new_totals", "the pass is the last"});
  const auto rows_refused = [&](const HaltedRowsForward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { halted_rows_forward(queue, args); }, words);
  };
  rows_refused({.x = x.view(), .weights = a.view(), .sum = sum.view(), .y = y.view()}, {"y", "there are no totals"});
  rows_refused({.x = x.view(), .totals = b.view(), .weights = a.view(), .sum = sum.view(), .y = y.view()},
               {"before", "[4, 3]"});
  rows_refused({.x = x.view(), .weights = a.view(), .sum = x.view()}, {"sum", "x", "overlap"});
  const auto backward_refused = [&](const HaltingBackward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { halting_backward(queue, args); }, words);
  };
  backward_refused({.in = in, .dweights = b.view(), .dnew_totals = c.view(), .dlogits = a.view()},
                   {"dlogits", "logits", "overlap"});
  expect_contract_error(
      [&] {
        halted_rows_backward(queue, {.x = x.view(),
                                     .weights = a.view(),
                                     .dsum = sum.view(),
                                     .dy = y.view(),
                                     .dx = y.view(),
                                     .dweights = b.view()});
      },
      {"dy", "there are no totals"});
}

}  // namespace

}  // namespace segue::kernels
