// Layer normalisation against the oracle, against its own parts unfused, and in the aliasing its contract allows.
#include "kernels/layer_norm.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/dropout.h"
#include "tests/oracle/layer_norm.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

constexpr float kEpsilon = 1e-5F;

struct Case {
  int64_t rows, columns;
  float p;
};

struct Gradients {
  TestTensor dx, dbranch, dgain, dbias;
};

class LayerNormTest : public testing::TestWithParam<Case> {
 protected:
  Shape shape_{GetParam().rows, GetParam().columns};
  Shape features_{GetParam().columns};
  Dropout dropout_{GetParam().p, {5, 6, 7}, 77};
  TestTensor x_ = random_tensor(shape_, 1), branch_ = random_tensor(shape_, 2);
  TestTensor gain_ = random_tensor(features_, 3), bias_ = random_tensor(features_, 4);
  TestTensor dy_ = random_tensor(shape_, 5), ds_other_ = random_tensor(shape_, 6);
  TestTensor sum_ = unset_tensor(shape_), y_ = unset_tensor(shape_);
  TestTensor mean_ = unset_tensor({shape_[0]}), rstd_ = unset_tensor({shape_[0]});
  std::vector<double> mask_ = oracle::dropout_mask(dropout_, shape_.elements());

  oracle::LayerNorm<double> expected() const {
    const std::vector<double> dropped = oracle::multiply(oracle_values(branch_.view()), mask_);
    return oracle::layer_norm(oracle::sum_of(oracle_values(x_.view()), dropped), oracle_values(gain_.view()),
                              oracle_values(bias_.view()), static_cast<double>(kEpsilon));
  }
  // The terms of rstd * (g - mean(g) - n mean(g n)): a row of one feature has variance 0, a large rstd, and cancels.
  double largest_term() const {
    double largest = 0.0;
    for (int64_t e = 0; e < shape_.elements(); ++e) {
      const float term = rstd_.as<float>()[e / shape_[1]] * dy_.as<float>()[e] * gain_.as<float>()[e % shape_[1]];
      largest = std::max(largest, static_cast<double>(std::abs(term)));
    }
    return largest;
  }
  LayerNormForward forward_args() {
    return {x_.view(), branch_.view(), dropout_,  gain_.view(), bias_.view(),
            kEpsilon,  sum_.view(),    y_.view(), mean_.view(), rstd_.view()};
  }
  Gradients unset_gradients() const {
    return {unset_tensor(shape_), unset_tensor(shape_), random_tensor(features_, 7), random_tensor(features_, 8)};
  }
  LayerNormBackward backward_args(Gradients& out) const {
    return {.dy = dy_.view(),
            .ds_other = ds_other_.view(),
            .sum = sum_.view(),
            .mean = mean_.view(),
            .rstd = rstd_.view(),
            .gain = gain_.view(),
            .dropout = dropout_,
            .dx = out.dx.view(),
            .dbranch = out.dbranch.view(),
            .dgain = out.dgain.view(),
            .dbias = out.dbias.view()};
  }
  Gradients backward(int threads) {
    Queue queue(test_device(), threads);
    Gradients out = unset_gradients();
    layer_norm_forward(queue, forward_args());
    layer_norm_backward(queue, backward_args(out));
    return out;
  }
};

TEST_P(LayerNormTest, ForwardEqualsTheOracle) {
  Queue queue(test_device(), 2);
  layer_norm_forward(queue, forward_args());
  expect_close("sum", sum_.view(), expected().sum, kElementwise);
  expect_close("y", y_.view(), expected().y, kReduction);
  expect_close("mean", mean_.view(), expected().mean, kReduction);
  expect_close("rstd", rstd_.view(), expected().rstd, kReduction);
}

TEST_P(LayerNormTest, BackwardEqualsTheOracle) {
  const Gradients found = backward(2);
  oracle::LayerNormGradients gradients =
      oracle::layer_norm_gradients(expected(), oracle_values(gain_.view()), oracle_values(dy_.view()));
  gradients.ds = oracle::sum_of(gradients.ds, oracle_values(ds_other_.view()));
  expect_close("dx", found.dx.view(), gradients.ds, kGradient, largest_term());
  expect_close("dbranch", found.dbranch.view(), oracle::multiply(gradients.ds, mask_), kGradient, largest_term());
  const Gradients before = unset_gradients();
  expect_close("dgain", found.dgain.view(), oracle::sum_of(gradients.dgain, oracle_values(before.dgain.view())),
               kGradient);
  expect_close("dbias", found.dbias.view(), oracle::sum_of(gradients.dbias, oracle_values(before.dbias.view())),
               kGradient);
}

TEST_P(LayerNormTest, SameBitsOnAnyNumberOfThreads) {
  const Gradients one = backward(1);
  const TestTensor y = copy_of(y_.view());
  for (const int threads : {2, 3}) {
    const Gradients more = backward(threads);
    expect_identical("y", y_.view(), y.view());
    expect_identical("dx", more.dx.view(), one.dx.view());
    expect_identical("dbranch", more.dbranch.view(), one.dbranch.view());
    expect_identical("dgain", more.dgain.view(), one.dgain.view());
    expect_identical("dbias", more.dbias.view(), one.dbias.view());
  }
}

TEST_P(LayerNormTest, EqualsDropoutThenSumThenNorm) {
  Queue queue(test_device(), 2);
  const Gradients fused = backward(2);
  TestTensor sum = copy_of(x_.view()), y = unset_tensor(shape_);
  dropout_forward(queue, {.x = branch_.view(), .dropout = dropout_, .y = sum.view(), .accumulate = true});
  layer_norm_forward(queue, {.x = sum.view(),
                             .gain = gain_.view(),
                             .bias = bias_.view(),
                             .epsilon = kEpsilon,
                             .y = y.view(),
                             .mean = mean_.view(),
                             .rstd = rstd_.view()});
  expect_close("sum", sum_.view(), oracle_values(sum.view()), kElementwise);
  expect_close("y", y_.view(), oracle_values(y.view()), kReduction);
  Gradients parts = unset_gradients();
  parts.dx = copy_of(ds_other_.view());
  layer_norm_backward(queue, {.dy = dy_.view(),
                              .sum = sum.view(),
                              .mean = mean_.view(),
                              .rstd = rstd_.view(),
                              .gain = gain_.view(),
                              .dx = parts.dx.view(),
                              .accumulate_dx = true,
                              .dgain = parts.dgain.view(),
                              .dbias = parts.dbias.view()});
  dropout_backward(queue, {.dy = parts.dx.view(), .dropout = dropout_, .dx = parts.dbranch.view()});
  expect_close("dx", fused.dx.view(), oracle_values(parts.dx.view()), kGradient, largest_term());
  expect_close("dbranch", fused.dbranch.view(), oracle_values(parts.dbranch.view()), kGradient, largest_term());
  expect_close("dgain", fused.dgain.view(), oracle_values(parts.dgain.view()), kGradient);
  expect_close("dbias", fused.dbias.view(), oracle_values(parts.dbias.view()), kGradient);
}

TEST_P(LayerNormTest, ForwardInPlaceOfEitherOperand) {
  Queue queue(test_device(), 2);
  layer_norm_forward(queue, forward_args());
  const TestTensor sum = copy_of(sum_.view()), y = copy_of(y_.view());
  for (TestTensor* operand : {&x_, &branch_}) {
    const TestTensor kept = copy_of(operand->view());
    LayerNormForward args = forward_args();
    args.sum = operand->view();
    layer_norm_forward(queue, args);
    expect_identical("sum", operand->view(), sum.view());
    expect_identical("y", y_.view(), y.view());
    *operand = copy_of(kept.view());
  }
}

TEST_P(LayerNormTest, BackwardInPlaceOfDyOrDsOther) {
  Queue queue(test_device(), 2);
  const Gradients apart = backward(2);
  for (TestTensor* input : {&dy_, &ds_other_}) {
    const TestTensor kept = copy_of(input->view());
    Gradients out = unset_gradients();
    LayerNormBackward args = backward_args(out);
    args.dx = input->view();
    layer_norm_backward(queue, args);
    expect_identical("dx", input->view(), apart.dx.view());
    expect_identical("dbranch", out.dbranch.view(), apart.dbranch.view());
    expect_identical("dgain", out.dgain.view(), apart.dgain.view());
    *input = copy_of(kept.view());
  }
}

TEST_P(LayerNormTest, WithoutDxOnlyTheParametersLearn) {
  Queue queue(test_device(), 2);
  const Gradients full = backward(2);
  Gradients out = unset_gradients();
  LayerNormBackward args = backward_args(out);
  args.dx = {};
  args.dbranch = {};
  layer_norm_backward(queue, args);
  expect_identical("dgain", out.dgain.view(), full.dgain.view());
  expect_identical("dbias", out.dbias.view(), full.dbias.view());
}

// As in a norm whose gain and bias are constants.
TEST_P(LayerNormTest, WithoutParametersOnlyRowsLearn) {
  Queue queue(test_device(), 2);
  layer_norm_forward(queue, forward_args());
  Gradients expected = unset_gradients(), found = unset_gradients();
  layer_norm_backward(queue, backward_args(expected));
  LayerNormBackward args = backward_args(found);
  args.dgain = args.dbias = {};
  layer_norm_backward(queue, args);
  expect_identical("dx", found.dx.view(), expected.dx.view());
  expect_identical("dbranch", found.dbranch.view(), expected.dbranch.view());
}

INSTANTIATE_TEST_SUITE_P(Sizes, LayerNormTest,
                         testing::Values(Case{1, 1, 0.0F}, Case{31, 33, 0.1F}, Case{32, 32, 0.0F}, Case{33, 31, 1.0F},
                                         Case{7, 1031, 0.1F}, Case{5, 1024, 0.1F}, Case{256, 257, 0.1F},
                                         Case{1024, 256, 0.1F}));

TEST(LayerNormOracle, GradientsByComplexStep) {
  const Shape shape{3, 5};
  const std::vector<double> sum = oracle_values(random_tensor(shape, 1).view());
  const std::vector<double> gain = oracle_values(random_tensor({5}, 2).view());
  const std::vector<double> bias = oracle_values(random_tensor({5}, 3).view());
  const std::vector<double> dy = oracle_values(random_tensor(shape, 4).view());
  const auto loss = [&](const ComplexVector& s, const ComplexVector& g, const ComplexVector& b) {
    return weighted_sum(oracle::layer_norm(s, g, b, 1e-5).y, dy);
  };
  const auto lifted = [](const std::vector<double>& v) { return ComplexVector(v.begin(), v.end()); };
  const oracle::LayerNormGradients found =
      oracle::layer_norm_gradients(oracle::layer_norm(sum, gain, bias, 1e-5), gain, dy);
  expect_close("ds", found.ds,
               complex_step_gradient(sum, [&](const ComplexVector& s) { return loss(s, lifted(gain), lifted(bias)); }),
               kComplexStep);
  expect_close("dgain", found.dgain,
               complex_step_gradient(gain, [&](const ComplexVector& g) { return loss(lifted(sum), g, lifted(bias)); }),
               kComplexStep);
  expect_close("dbias", found.dbias,
               complex_step_gradient(bias, [&](const ComplexVector& b) { return loss(lifted(sum), lifted(gain), b); }),
               kComplexStep);
}

TEST(LayerNorm, ALargeMeanDoesNotCancelTheVariance) {
  Queue queue(test_device(), 1);
  TestTensor x = random_tensor({1, 64}, 1);
  for (int64_t d = 0; d < 64; ++d) x.as<float>()[d] = 4096.0F + std::round(8.0F * x.as<float>()[d]) / 8.0F;
  const TestTensor gain = filled_tensor({64}, 1.0F), bias = filled_tensor({64}, 0.0F);
  TestTensor y = unset_tensor({1, 64}), mean = unset_tensor({1}), rstd = unset_tensor({1});
  layer_norm_forward(queue, {.x = x.view(),
                             .gain = gain.view(),
                             .bias = bias.view(),
                             .y = y.view(),
                             .mean = mean.view(),
                             .rstd = rstd.view()});
  const auto expected = oracle::layer_norm(oracle_values(x.view()), oracle_values(gain.view()),
                                           oracle_values(bias.view()), static_cast<double>(kEpsilon));
  EXPECT_NEAR(static_cast<double>(rstd.as<float>()[0]), expected.rstd[0], 1e-3 * expected.rstd[0]);
}

TEST(LayerNorm, RefusesRowsThatAreTooWide) {
  Queue queue(test_device(), 1);
  for (const int64_t columns : {8192, 8193}) {
    const TestTensor x = random_tensor({1, columns}, 1), gain = filled_tensor({columns}, 1.0F);
    const TestTensor bias = filled_tensor({columns}, 0.0F);
    TestTensor y = unset_tensor({1, columns}), mean = unset_tensor({1}), rstd = unset_tensor({1});
    const auto run = [&] {
      layer_norm_forward(queue, {.x = x.view(),
                                 .gain = gain.view(),
                                 .bias = bias.view(),
                                 .y = y.view(),
                                 .mean = mean.view(),
                                 .rstd = rstd.view()});
    };
    if (columns > 8192) {
      expect_contract_error(run, {"at most 8192", "8193"});
    } else {
      run();
      const auto expected = oracle::layer_norm(oracle_values(x.view()), oracle_values(gain.view()),
                                               oracle_values(bias.view()), static_cast<double>(kEpsilon));
      expect_close("y", y.view(), expected.y, kReduction);
    }
  }
}

TEST(LayerNorm, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor x(DType::kFloat32, {2, 3}), y(DType::kFloat32, {2, 3}), gain(DType::kFloat32, {3});
  TestTensor rows(DType::kFloat32, {2}), more_rows(DType::kFloat32, {2}), features(DType::kFloat32, {3});
  const LayerNormForward good{.x = x.view(),
                              .gain = gain.view(),
                              .bias = features.view(),
                              .y = y.view(),
                              .mean = rows.view(),
                              .rstd = more_rows.view()};
  LayerNormForward args = good;
  args.sum = y.view();
  expect_contract_error([&] { layer_norm_forward(queue, args); }, {"sum", "without a branch"});
  args = good;
  args.y = x.view();
  expect_contract_error([&] { layer_norm_forward(queue, args); }, {"y", "overlap"});
  args = good;
  args.gain = rows.view();
  expect_contract_error([&] { layer_norm_forward(queue, args); }, {"gain", "[3]", "[2]"});
}

}  // namespace

}  // namespace segue::kernels
