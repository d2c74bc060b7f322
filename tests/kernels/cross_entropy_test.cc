// Cross-entropy against the oracle, with and without a bias, of all rows and of some, and at the ends of the number
// range.
#include "kernels/cross_entropy.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/cross_entropy.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t rows, classes;
  bool bias;
  double scored = 1.0;  // the share of rows whose target is not -1
};

std::vector<int32_t> random_targets(const Case& size) {
  std::vector<int32_t> targets;
  for (int64_t i = 0; i < size.rows; ++i) {
    const double u = random_uniform({1, 2, 3}, static_cast<uint64_t>(i));
    const bool scored = random_uniform({1, 2, 4}, static_cast<uint64_t>(i)) < size.scored;
    targets.push_back(scored ? static_cast<int32_t>(u * static_cast<double>(size.classes)) : -1);
  }
  return targets;
}

// Rows that are not scored hold what spreads: every second of their elements NaN, the others infinite.
TestTensor random_logits(const Case& size, const std::vector<int32_t>& targets) {
  TestTensor logits = random_tensor({size.rows, size.classes}, 1, 3.0);
  for (int64_t e = 0; e < logits.shape().elements(); ++e)
    if (targets[static_cast<size_t>(e / size.classes)] == -1) logits.as<float>()[e] = e % 2 == 0 ? NAN : INFINITY;
  return logits;
}

struct Gradients {
  TestTensor dlogits, dbias;
};

class CrossEntropyTest : public testing::TestWithParam<Case> {
 protected:
  Case size_ = GetParam();
  float scale_ = 1.0F / static_cast<float>(size_.rows);
  std::vector<int32_t> target_values_ = random_targets(size_);
  TestTensor targets_ = index_tensor(target_values_);
  TestTensor logits_ = random_logits(size_, target_values_), bias_ = random_tensor({size_.classes}, 2);
  TestTensor nll_ = unset_tensor({size_.rows}), lse_ = unset_tensor({size_.rows}), margin_ = unset_tensor({size_.rows});

  std::vector<double> biased_logits() const {
    std::vector<double> z = oracle_values(logits_.view());
    for (size_t e = 0; size_.bias && e < z.size(); ++e)
      z[e] += static_cast<double>(bias_.as<float>()[e % static_cast<size_t>(size_.classes)]);
    return z;
  }
  ConstTensorView bias_or_none() const { return size_.bias ? bias_.view() : ConstTensorView{}; }
  Gradients run(int threads) {
    Queue queue(test_device(), threads);
    Gradients out{copy_of(logits_.view()), random_tensor({size_.classes}, 3)};
    cross_entropy_forward(queue,
                          {logits_.view(), bias_or_none(), targets_.view(), nll_.view(), lse_.view(), margin_.view()});
    cross_entropy_backward(queue, {out.dlogits.view(), bias_or_none(), targets_.view(), lse_.view(), scale_,
                                   size_.bias ? out.dbias.view() : TensorView{}});
    return out;
  }
};

TEST_P(CrossEntropyTest, EqualsTheOracle) {
  const Gradients found = run(2);
  const auto expected = oracle::cross_entropy(biased_logits(), target_values_);
  expect_close("nll", nll_.view(), expected.nll, kReduction);
  expect_close("lse", lse_.view(), expected.lse, kReduction);
  const std::vector<double> margins = oracle::margins(biased_logits(), target_values_);
  if (size_.classes > 1) expect_close("margin", margin_.view(), margins, kElementwise, largest(expected.lse));
  const std::vector<double> gradient =
      oracle::cross_entropy_gradient(biased_logits(), target_values_, static_cast<double>(scale_));
  expect_close("dlogits", found.dlogits.view(), gradient, kGradient);
  std::vector<double> dbias = oracle_values(random_tensor({size_.classes}, 3).view());
  if (size_.bias) dbias = oracle::sum_of(dbias, oracle::column_sums(gradient, size_.classes));
  expect_close("dbias", found.dbias.view(), dbias, kGradient);
}

TEST_P(CrossEntropyTest, SameBitsOnAnyNumberOfThreads) {
  const Gradients one = run(1);
  const TestTensor nll = copy_of(nll_.view()), margin = copy_of(margin_.view());
  for (const int threads : {2, 3}) {
    const Gradients more = run(threads);
    expect_identical("nll", nll_.view(), nll.view());
    expect_identical("margin", margin_.view(), margin.view());
    expect_identical("dlogits", more.dlogits.view(), one.dlogits.view());
    expect_identical("dbias", more.dbias.view(), one.dbias.view());
  }
}

TEST_P(CrossEntropyTest, WithoutAMarginTheLossIsTheSame) {
  run(2);
  Queue queue(test_device(), 2);
  TestTensor nll = unset_tensor({size_.rows}), lse = unset_tensor({size_.rows});
  cross_entropy_forward(queue, {logits_.view(), bias_or_none(), targets_.view(), nll.view(), lse.view()});
  expect_identical("nll", nll.view(), nll_.view());
  expect_identical("lse", lse.view(), lse_.view());
}

// Those not scored change no bit of the loss and the gradient of the others.
TEST_P(CrossEntropyTest, RowsAreScoredEachByItself) {
  const Gradients some = run(2);
  const TestTensor nll = copy_of(nll_.view()), margin = copy_of(margin_.view());
  const int64_t classes = size_.classes;
  for (int64_t row = 0; row < size_.rows; ++row) {
    if (target_values_[static_cast<size_t>(row)] != -1) continue;
    std::fill_n(logits_.as<float>() + row * classes, classes, 1.0F);
    targets_.as<int32_t>()[row] = 0;
  }
  const Gradients all = run(2);
  for (int64_t row = 0; row < size_.rows; ++row) {
    if (target_values_[static_cast<size_t>(row)] == -1) continue;
    expect_identical("nll", nll.view().rows(row, 1), std::as_const(nll_).view().rows(row, 1));
    expect_identical("margin", margin.view().rows(row, 1), std::as_const(margin_).view().rows(row, 1));
    expect_identical("dlogits", some.dlogits.view().rows(row, 1), all.dlogits.view().rows(row, 1));
  }
}

TEST_P(CrossEntropyTest, ABiasIsASumBeforehand) {
  const Gradients fused = run(2);
  const TestTensor nll = copy_of(nll_.view());
  const std::vector<double> sum = biased_logits();
  std::transform(sum.begin(), sum.end(), logits_.as<float>(), [](double z) { return static_cast<float>(z); });
  size_.bias = false;
  const Gradients unfused = run(2);
  expect_close("nll", nll.view(), oracle_values(nll_.view()), kReduction);
  expect_close("dlogits", fused.dlogits.view(), oracle_values(unfused.dlogits.view()), kGradient);
}

INSTANTIATE_TEST_SUITE_P(Sizes, CrossEntropyTest,
                         testing::Values(Case{1, 1, false}, Case{1, 2, true}, Case{31, 32, false}, Case{33, 31, true},
                                         Case{7, 1031, true}, Case{3, 4100, true}, Case{512, 256, true},
                                         Case{64, 10007, false}, Case{33, 31, true, 0.6}, Case{7, 1031, true, 0.5},
                                         Case{512, 256, true, 0.3}, Case{9, 4100, false, 0.5}, Case{5, 10, true, 0.0},
                                         Case{3, 4100, true, 0.0}));

TEST(CrossEntropyOracle, GradientByComplexStep) {
  const std::vector<int32_t> targets{2, 0, -1, 4};
  const std::vector<double> logits = oracle_values(random_tensor({4, 5}, 1, 3.0).view());
  const auto loss = [&](const ComplexVector& z) {
    return weighted_sum(oracle::cross_entropy(z, targets).nll, {0.7, 0.7, 0.7, 0.7});
  };
  expect_close("dlogits", oracle::cross_entropy_gradient(logits, targets, 0.7), complex_step_gradient(logits, loss),
               kComplexStep);
}

struct Outcome {
  float nll, margin;
};

// Forward over one row.
Outcome outcome_of(TestTensor logits, int32_t target = 0) {
  Queue queue(test_device(), 1);
  const TestTensor targets = index_tensor({target});
  TestTensor nll = unset_tensor({1}), lse = unset_tensor({1}), margin = unset_tensor({1});
  cross_entropy_forward(queue, {.logits = logits.view(),
                                .targets = targets.view(),
                                .nll = nll.view(),
                                .lse = lse.view(),
                                .margin = margin.view()});
  return {nll.as<float>()[0], margin.as<float>()[0]};
}

TEST(CrossEntropy, LargeLogitsNeitherOverflowNorVanish) {
  EXPECT_FLOAT_EQ(outcome_of(filled_tensor({1, 4}, 3e38F)).nll, std::log(4.0F));
  EXPECT_FLOAT_EQ(outcome_of(filled_tensor({1, 4}, -3e38F)).nll, std::log(4.0F));
  TestTensor sure = filled_tensor({1, 3}, -1000.0F);
  sure.as<float>()[0] = 1000.0F;
  EXPECT_EQ(outcome_of(copy_of(sure.view())).nll, 0.0F);
  std::swap(sure.as<float>()[0], sure.as<float>()[1]);
  EXPECT_EQ(outcome_of(copy_of(sure.view())).nll, 2000.0F);
}

// In rows of warps and of blocks, wherever the target and its rival are.
TEST(CrossEntropy, ATieIsNoAnswer) {
  for (const int64_t classes : {2, 33, 256, 1031, 4100}) {
    const auto last = static_cast<int32_t>(classes - 1);
    for (const int32_t target : {0, last / 2, last}) {
      for (const int32_t rival : {0, last / 2, last}) {
        if (rival == target) continue;
        TestTensor logits = filled_tensor({1, classes}, -5.0F);
        logits.as<float>()[target] = logits.as<float>()[rival] = -2.5F;
        EXPECT_EQ(outcome_of(copy_of(logits.view()), target).margin, 0.0F)
            << classes << ": " << target << ", " << rival;
        logits.as<float>()[rival] = -3.0F;
        EXPECT_EQ(outcome_of(copy_of(logits.view()), target).margin, 0.5F)
            << classes << ": " << target << ", " << rival;
        EXPECT_EQ(outcome_of(copy_of(logits.view()), rival).margin, -0.5F)
            << classes << ": " << target << ", " << rival;
      }
    }
  }
}

TEST(CrossEntropy, TheOnlyClassIsBeyondAllOthers) {
  EXPECT_EQ(outcome_of(filled_tensor({1, 1}, 3.0F)).margin, INFINITY);
  EXPECT_EQ(outcome_of(filled_tensor({1, 1}, 3.0F)).nll, 0.0F);
}

TEST(CrossEntropy, NanReachesTheLossAndTheMargin) {
  for (const int64_t classes : {100, 2000}) {
    for (const int32_t target : {0, 57}) {
      TestTensor logits = random_tensor({1, classes}, 1);
      logits.as<float>()[57] = NAN;
      const Outcome found = outcome_of(copy_of(logits.view()), target);
      EXPECT_TRUE(std::isnan(found.nll) && std::isnan(found.margin)) << classes << ": " << target;
    }
  }
}

TEST(CrossEntropy, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor logits(DType::kFloat32, {2, 3}), rows(DType::kFloat32, {2}), more_rows(DType::kFloat32, {2});
  const TestTensor above = index_tensor({2, 3}), below = index_tensor({-1, -2});
  const TestTensor three = index_tensor({0, 1, 2}), inside = index_tensor({0, 1});
  if (!test_device().is_cuda()) {  // indices on a GPU are not looked at
    expect_contract_error(
        [&] {
          cross_entropy_forward(queue, {logits.view(), {}, above.view(), rows.view(), more_rows.view()});
        },
        {"targets[1]", "[-1, 3)", "found 3"});
    expect_contract_error(
        [&] {
          cross_entropy_backward(queue, {logits.view(), {}, below.view(), rows.view()});
        },
        {"targets[1]", "[-1, 3)", "found -2"});
  }
  expect_contract_error(
      [&] {
        cross_entropy_forward(queue, {logits.view(), {}, three.view(), rows.view(), more_rows.view()});
      },
      {"targets", "[2]", "[3]"});
  expect_contract_error(
      [&] {
        cross_entropy_forward(queue, {logits.view(), {}, inside.view(), rows.view(), more_rows.view(), rows.view()});
      },
      {"margin", "nll"});
  expect_contract_error(
      [&] {
        cross_entropy_backward(queue, {logits.view(), {}, inside.view(), rows.view(), 1.0F, rows.view()});
      },
      {"dbias", "without a bias"});
}

}  // namespace

}  // namespace segue::kernels
