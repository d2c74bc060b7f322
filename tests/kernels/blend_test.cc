// Shares of two sources: against the oracle in both precisions, and where a share is all or nothing.
#include "kernels/blend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tests/kernels/bfloat16.h"
#include "tests/oracle/blend.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

struct Problem {
  TestTensor a, b, logits, dy, before;

  Problem(const Shape& shape, DType dtype)
      : a(cast(random_tensor(shape, 1), dtype)),
        b(cast(random_tensor(shape, 2), dtype)),
        logits(random_tensor({shape[1]}, 3)),
        dy(cast(random_tensor(shape, 4), dtype)),
        before(random_tensor({shape[1]}, 5)) {}
  size_t width() const { return static_cast<size_t>(a.shape()[2]); }
};

struct Solution {
  TestTensor y, da, db, dlogits;

  explicit Solution(const Problem& of)
      : y(cast(unset_tensor(of.a.shape()), of.a.view().dtype)),
        da(copy_of(std::as_const(y).view())),
        db(copy_of(std::as_const(y).view())),
        dlogits(copy_of(of.before.view())) {}
};

Solution solve(const Problem& p, int threads = 2) {
  Queue queue(test_device(), threads);
  Solution s(p);
  blend_forward(queue, {.a = p.a.view(), .b = p.b.view(), .logits = p.logits.view(), .y = s.y.view()});
  blend_backward(queue, {.a = p.a.view(),
                         .b = p.b.view(),
                         .logits = p.logits.view(),
                         .dy = p.dy.view(),
                         .da = s.da.view(),
                         .db = s.db.view(),
                         .dlogits = s.dlogits.view()});
  return s;
}

TEST(BlendTest, EqualsTheOracle) {
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{31, 3, 7}, Shape{32, 2, 31}, Shape{33, 5, 32}, Shape{97, 1, 33},
                             Shape{130, 7, 8}, Shape{5, 37, 3}, Shape{259, 4, 64}, Shape{3, 2, 520}}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      SCOPED_TRACE(fmt::format("{} {}", shape.text(), name_of(dtype)));
      const Problem p(shape, dtype);
      const Solution s = solve(p);
      const std::vector<double> y = oracle::blend(p.width(), values(p.a), values(p.b), values(p.logits));
      const oracle::BlendGradients expected =
          oracle::blend_gradients(p.width(), values(p.a), values(p.b), values(p.logits), values(p.dy));
      const auto expect = [&](const char* what, const TestTensor& found, const std::vector<double>& wanted,
                              double factor) {
        if (dtype == DType::kBFloat16) return expect_near_as_naive(what, found.view(), wanted, rounded(wanted), factor);
        expect_close(what, found.view(), wanted, kElementwise, largest(values(p.a)));
      };
      expect("y", s.y, y, kBFloat16Output);
      expect("da", s.da, expected.a, kBFloat16Gradient);
      expect("db", s.db, expected.b, kBFloat16Gradient);
      expect_close("dlogits", s.dlogits.view(), oracle::sum_of(values(p.before), expected.logits), kReduction);
    }
  }
}

// The rest of a share next to 1 is what it is, not what rounding leaves of 1.
TEST(BlendTest, SharesOfAlmostAllAndNothing) {
  constexpr std::array kLogits = {-200.0F, -30.0F, 30.0F, 200.0F};
  Problem p({5, kLogits.size(), 3}, DType::kFloat32);
  std::copy(kLogits.begin(), kLogits.end(), p.logits.as<float>());
  const Solution s = solve(p);
  const std::vector<double> y = values(s.y), da = values(s.da), db = values(s.db), dy = values(p.dy);
  for (size_t e = 0; e < y.size(); ++e) {
    const size_t n = e / 3 % kLogits.size();
    EXPECT_NEAR(y[e], values(n < 2 ? p.b : p.a)[e], 1e-6) << e;
    const double small = n % 3 == 0 ? 0.0 : std::exp(-30.0) * dy[e];
    EXPECT_NEAR(n < 2 ? da[e] : db[e], small, 1e-6 * std::abs(small)) << e;
    EXPECT_EQ(n < 2 ? db[e] : da[e], dy[e]) << e;
  }
}

TEST(BlendTest, NaNStaysInItsHead) {
  for (const bool of_logit : {false, true}) {
    Problem p({3, 3, 5}, DType::kFloat32);
    if (of_logit) {
      p.logits.as<float>()[1] = NAN;
    } else {
      p.a.as<float>()[1 * 15 + 1 * 5 + 2] = NAN;
    }
    const Solution s = solve(p);
    const std::vector<double> y = values(s.y), da = values(s.da), db = values(s.db), dlogits = values(s.dlogits);
    for (size_t e = 0; e < y.size(); ++e) {
      EXPECT_EQ(std::isnan(y[e]), of_logit ? e / 5 % 3 == 1 : e == 22) << e;
      EXPECT_EQ(std::isnan(da[e]), of_logit && e / 5 % 3 == 1) << e;
      EXPECT_EQ(std::isnan(db[e]), of_logit && e / 5 % 3 == 1) << e;
    }
    for (size_t n = 0; n < 3; ++n) EXPECT_EQ(std::isnan(dlogits[n]), n == 1) << n;
  }
}

TEST(BlendTest, ThreadsDoNotChangeABit) {
  const Problem p({1001, 3, 20}, DType::kFloat32);
  const Solution once = solve(p, 1);
  for (const int threads : {2, 3}) {
    const Solution s = solve(p, threads);
    expect_identical("y", s.y.view(), once.y.view());
    expect_identical("da", s.da.view(), once.da.view());
    expect_identical("db", s.db.view(), once.db.view());
    expect_identical("dlogits", s.dlogits.view(), once.dlogits.view());
  }
}

TEST(BlendTest, OraclesGradientsAreTheComplexStep) {
  const Problem p({4, 3, 5}, DType::kFloat32);
  const std::vector<double> a = values(p.a), b = values(p.b), logits = values(p.logits), dy = values(p.dy);
  const auto complex = [](const std::vector<double>& real) { return ComplexVector(real.begin(), real.end()); };
  const auto loss = [&](const ComplexVector& with_a, const ComplexVector& with_b, const ComplexVector& with_logits) {
    return weighted_sum(oracle::blend(5, with_a, with_b, with_logits), dy);
  };
  const oracle::BlendGradients found = oracle::blend_gradients(5, a, b, logits, dy);
  const auto of_a = [&](const ComplexVector& at) { return loss(at, complex(b), complex(logits)); };
  const auto of_b = [&](const ComplexVector& at) { return loss(complex(a), at, complex(logits)); };
  const auto of_logits = [&](const ComplexVector& at) { return loss(complex(a), complex(b), at); };
  expect_close("da", found.a, complex_step_gradient(a, of_a), kComplexStep);
  expect_close("db", found.b, complex_step_gradient(b, of_b), kComplexStep);
  expect_close("dlogits", found.logits, complex_step_gradient(logits, of_logits), kComplexStep);
}

TEST(BlendTest, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor a(DType::kFloat32, {2, 3, 4}), b(DType::kFloat32, {2, 3, 4}), y(DType::kFloat32, {2, 3, 4});
  TestTensor other(DType::kFloat32, {2, 4, 3}), bfloat16(DType::kBFloat16, {2, 3, 4}), dy(DType::kFloat32, {2, 3, 4});
  TestTensor logits(DType::kFloat32, {3}), da(DType::kFloat32, {2, 3, 4});
  const auto refused = [&](const BlendForward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { blend_forward(queue, args); }, words);
  };
  refused({a.view(), other.view(), logits.view(), y.view()}, {"b", "[2, 3, 4]", "[2, 4, 3]"});
  refused({a.view(), b.view(), y.view(), y.view()}, {"logits", "[3]"});
  refused({a.view(), b.view(), logits.view(), bfloat16.view()}, {"y", "float32", "bfloat16"});
  refused({a.view(), b.view(), logits.view(), a.view()}, {"y", "a", "overlap"});
  refused({a.view(), b.view(), logits.view(), b.view()}, {"y", "b", "overlap"});
  const auto backward_refused = [&](const BlendBackward& args, const std::vector<std::string>& words) {
    expect_contract_error([&] { blend_backward(queue, args); }, words);
  };
  const BlendBackward args{a.view(), b.view(), logits.view(), dy.view(), da.view(), y.view(), logits.view()};
  BlendBackward broken = args;
  broken.da = dy.view();
  backward_refused(broken, {"da", "dy", "overlap"});
  broken = args;
  broken.db = da.view();
  backward_refused(broken, {"db", "da", "overlap"});
  broken = args;
  broken.dlogits = y.view();
  backward_refused(broken, {"dlogits", "[3]"});
  broken = args;
  broken.dy = other.view();
  backward_refused(broken, {"dy", "[2, 3, 4]"});
}

}  // namespace

}  // namespace segue::kernels
