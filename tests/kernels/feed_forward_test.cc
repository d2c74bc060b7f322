// The feed-forward network against the oracle, and against matrix products, activation and dropout one by one.
#include "kernels/feed_forward.h"

#include "kernels/matmul.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/feed_forward.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t rows, d, f;
  Activation activation;
  float p;
  bool accumulate_dx;
};

struct Gradients {
  TestTensor workspace, dx, dw1, db1, dw2, db2;
};

class FeedForwardTest : public testing::TestWithParam<Case> {
 protected:
  Case size_ = GetParam();
  bool gelu_ = size_.activation == Activation::kGelu;
  Shape outer_{size_.rows, size_.d}, inner_{size_.rows, size_.f};
  Dropout dropout_{size_.p, {5, 6, 7}, 1234567};
  Queue queue_{test_device(), 2};
  TestTensor x_ = random_tensor(outer_, 1), dy_ = random_tensor(outer_, 2);
  TestTensor w1_ = random_tensor({size_.f, size_.d}, 3, 1.0 / std::sqrt(static_cast<double>(size_.d)));
  TestTensor w2_ = random_tensor({size_.d, size_.f}, 4, 1.0 / std::sqrt(static_cast<double>(size_.f)));
  TestTensor b1_ = random_tensor({size_.f}, 5), b2_ = random_tensor({size_.d}, 6);
  TestTensor pre_ = unset_tensor(inner_), hidden_ = unset_tensor(inner_), y_ = unset_tensor(outer_);
  std::vector<double> mask_ = oracle::dropout_mask(dropout_, inner_.elements());

  oracle::FeedForward<double> oracle_inputs() const {
    return {oracle_values(x_.view()), oracle_values(w1_.view()), oracle_values(b1_.view()), oracle_values(w2_.view()),
            oracle_values(b2_.view())};
  }
  void forward() {
    feed_forward_forward(queue_, {x_.view(), w1_.view(), b1_.view(), w2_.view(), b2_.view(), size_.activation, dropout_,
                                  gelu_ ? pre_.view() : TensorView{}, hidden_.view(), y_.view()});
  }
  Gradients initial_gradients() const {
    return {unset_tensor(inner_),
            size_.accumulate_dx ? random_tensor(outer_, 7) : unset_tensor(outer_),
            random_tensor({size_.f, size_.d}, 8),
            random_tensor({size_.f}, 9),
            random_tensor({size_.d, size_.f}, 10),
            random_tensor({size_.d}, 11)};
  }
  Gradients backward() {
    Gradients out = initial_gradients();
    feed_forward_backward(
        queue_, {dy_.view(), x_.view(), w1_.view(), w2_.view(), gelu_ ? std::as_const(pre_).view() : ConstTensorView{},
                 hidden_.view(), size_.activation, dropout_, out.workspace.view(), out.dx.view(), size_.accumulate_dx,
                 out.dw1.view(), out.db1.view(), out.dw2.view(), out.db2.view()});
    return out;
  }
  // Elementwise on the host, with the oracle's scalar functions: the unfused operation between two products.
  TestTensor unfused_activation(const TestTensor& pre, bool gradient) const {
    TestTensor out = unset_tensor(inner_);
    for (int64_t e = 0; e < inner_.elements(); ++e) {
      const double value = static_cast<double>(pre.as<float>()[e]);
      out.as<float>()[e] = static_cast<float>(gradient ? oracle::activation_gradient(size_.activation, value)
                                                       : oracle::activate(size_.activation, value));
    }
    return out;
  }
};

TEST_P(FeedForwardTest, ForwardEqualsTheOracle) {
  forward();
  const auto expected = oracle::feed_forward(oracle_inputs(), size_.activation, mask_);
  if (gelu_) expect_close("pre", pre_.view(), expected.pre, kReduction);
  expect_close("hidden", hidden_.view(), expected.hidden, kReduction);
  expect_close("y", y_.view(), expected.y, kReduction);
}

TEST_P(FeedForwardTest, BackwardEqualsTheOracle) {
  forward();
  const Gradients found = backward();
  const Gradients before = initial_gradients();
  const auto saved = oracle::feed_forward(oracle_inputs(), size_.activation, mask_);
  const auto expected =
      oracle::feed_forward_gradients(oracle_inputs(), saved, size_.activation, mask_, oracle_values(dy_.view()));
  const auto plus = [](const std::vector<double>& gradient, const TestTensor& initial) {
    return oracle::sum_of(gradient, oracle_values(initial.view()));
  };
  expect_close("dx", found.dx.view(), size_.accumulate_dx ? plus(expected.x, before.dx) : expected.x, kGradient);
  expect_close("dw1", found.dw1.view(), plus(expected.w1, before.dw1), kGradient);
  expect_close("db1", found.db1.view(), plus(expected.b1, before.db1), kGradient);
  expect_close("dw2", found.dw2.view(), plus(expected.w2, before.dw2), kGradient);
  expect_close("db2", found.db2.view(), plus(expected.b2, before.db2), kGradient);
}

TEST_P(FeedForwardTest, EqualsItsPartsUnfused) {
  forward();
  const Gradients fused = backward();
  TestTensor pre = unset_tensor(inner_), y = unset_tensor(outer_);
  for (int64_t e = 0; e < inner_.elements(); ++e) pre.as<float>()[e] = b1_.as<float>()[e % size_.f];
  for (int64_t e = 0; e < outer_.elements(); ++e) y.as<float>()[e] = b2_.as<float>()[e % size_.d];
  matmul(queue_, {.a = x_.view(), .b = w1_.view(), .transpose_b = true, .c = pre.view(), .accumulate = true});
  TestTensor hidden = unfused_activation(pre, false);
  dropout_forward(queue_, {.x = hidden.view(), .dropout = dropout_, .y = hidden.view()});
  matmul(queue_, {.a = hidden.view(), .b = w2_.view(), .transpose_b = true, .c = y.view(), .accumulate = true});
  expect_close("hidden", hidden_.view(), oracle_values(hidden.view()), kReduction);
  expect_close("y", y_.view(), oracle_values(y.view()), kReduction);

  Gradients parts = initial_gradients();
  matmul(queue_, {dy_.view(), true, hidden.view(), false, parts.dw2.view(), true});
  matmul(queue_, {.a = dy_.view(), .b = w2_.view(), .c = parts.workspace.view()});
  dropout_backward(queue_, {.dy = parts.workspace.view(), .dropout = dropout_, .dx = parts.workspace.view()});
  const TestTensor slope = unfused_activation(pre, true);
  for (int64_t e = 0; e < inner_.elements(); ++e) parts.workspace.as<float>()[e] *= slope.as<float>()[e];
  matmul(queue_, {parts.workspace.view(), true, x_.view(), false, parts.dw1.view(), true});
  matmul(queue_, {parts.workspace.view(), false, w1_.view(), false, parts.dx.view(), size_.accumulate_dx});
  const auto sums = [](const TestTensor& terms, const TestTensor& initial) {
    return oracle::sum_of(oracle::column_sums(oracle_values(terms.view()), terms.shape()[1]),
                          oracle_values(initial.view()));
  };
  expect_close("dpre", fused.workspace.view(), oracle_values(parts.workspace.view()), kGradient);
  expect_close("dx", fused.dx.view(), oracle_values(parts.dx.view()), kGradient);
  expect_close("dw1", fused.dw1.view(), oracle_values(parts.dw1.view()), kGradient);
  expect_close("db1", fused.db1.view(), sums(parts.workspace, parts.db1), kGradient);
  expect_close("dw2", fused.dw2.view(), oracle_values(parts.dw2.view()), kGradient);
  expect_close("db2", fused.db2.view(), sums(dy_, parts.db2), kGradient);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, FeedForwardTest,
    testing::Values(Case{1, 1, 1, Activation::kRelu, 0.0F, false}, Case{1, 1, 1, Activation::kGelu, 0.0F, true},
                    Case{31, 32, 33, Activation::kRelu, 0.1F, true}, Case{33, 31, 32, Activation::kGelu, 0.1F, false},
                    Case{32, 13, 101, Activation::kRelu, 1.0F, false}, Case{7, 13, 1031, Activation::kGelu, 1.0F, true},
                    Case{64, 256, 1024, Activation::kRelu, 0.1F, false},
                    Case{64, 256, 1024, Activation::kGelu, 0.1F, true}));

class FeedForwardOracleTest : public testing::TestWithParam<Activation> {};

TEST_P(FeedForwardOracleTest, GradientsByComplexStep) {
  const int64_t rows = 2, d = 3, f = 4;
  const std::vector<double> mask = oracle::dropout_mask({0.3F, {1, 2, 3}, 0}, rows * f);
  const auto values = [](const Shape& shape, uint16_t site) {
    return oracle_values(random_tensor(shape, site).view());
  };
  const oracle::FeedForward<double> in{values({rows, d}, 1), values({f, d}, 2), values({f}, 3), values({d, f}, 4),
                                       values({d}, 5)};
  const std::vector<double> dy = values({rows, d}, 6);
  const auto found =
      oracle::feed_forward_gradients(in, oracle::feed_forward(in, GetParam(), mask), GetParam(), mask, dy);
  const auto lifted = [](const std::vector<double>& v) { return ComplexVector(v.begin(), v.end()); };
  const oracle::FeedForward<std::complex<double>> point{lifted(in.x), lifted(in.w1), lifted(in.b1), lifted(in.w2),
                                                        lifted(in.b2)};
  const auto expect_gradient = [&](const std::string& what, auto member_of, auto lifted_member) {
    const auto loss = [&](const ComplexVector& at) {
      auto moved = point;
      moved.*lifted_member = at;
      return weighted_sum(oracle::feed_forward(moved, GetParam(), mask).y, dy);
    };
    expect_close(what, found.*member_of, complex_step_gradient(in.*member_of, loss), kComplexStep);
  };
  using In = oracle::FeedForward<double>;
  using Lifted = oracle::FeedForward<std::complex<double>>;
  expect_gradient("x", &In::x, &Lifted::x);
  expect_gradient("w1", &In::w1, &Lifted::w1);
  expect_gradient("b1", &In::b1, &Lifted::b1);
  expect_gradient("w2", &In::w2, &Lifted::w2);
  expect_gradient("b2", &In::b2, &Lifted::b2);
}

INSTANTIATE_TEST_SUITE_P(Activations, FeedForwardOracleTest, testing::Values(Activation::kRelu, Activation::kGelu));

TEST(FeedForward, NanReachesTheOutputThroughRelu) {
  Queue queue(test_device(), 1);
  TestTensor x = filled_tensor({1, 1}, NAN), w = filled_tensor({1, 1}, 1.0F), b = filled_tensor({1}, 0.0F);
  TestTensor hidden = unset_tensor({1, 1}), y = unset_tensor({1, 1});
  feed_forward_forward(queue, {.x = x.view(),
                               .w1 = w.view(),
                               .b1 = b.view(),
                               .w2 = w.view(),
                               .b2 = b.view(),
                               .hidden = hidden.view(),
                               .y = y.view()});
  EXPECT_TRUE(std::isnan(y.as<float>()[0]));
}

TEST(FeedForward, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3}), y(DType::kFloat32, {2, 3}), w1(DType::kFloat32, {4, 3});
  TestTensor w2(DType::kFloat32, {3, 4}), b1(DType::kFloat32, {4}), b2(DType::kFloat32, {3});
  TestTensor hidden(DType::kFloat32, {2, 4}), pre(DType::kFloat32, {2, 4});
  FeedForwardForward args{.x = x.view(),
                          .w1 = w1.view(),
                          .b1 = b1.view(),
                          .w2 = w2.view(),
                          .b2 = b2.view(),
                          .pre = pre.view(),
                          .hidden = hidden.view(),
                          .y = y.view()};
  expect_contract_error([&] { feed_forward_forward(queue, args); }, {"pre", "empty for ReLU"});
  args.activation = Activation::kGelu;
  args.pre = hidden.view();
  expect_contract_error([&] { feed_forward_forward(queue, args); }, {"hidden", "apart from pre"});
  args.pre = pre.view();
  args.w2 = w1.view();
  expect_contract_error([&] { feed_forward_forward(queue, args); }, {"w2", "[3, 4]", "[4, 3]"});
}

}  // namespace

}  // namespace segue::kernels
