// Cross-entropy against the oracle, with and without a bias, and at the ends of the number range.
#include "kernels/cross_entropy.h"

#include "tests/kernels/testing.h"
#include "tests/oracle/cross_entropy.h"
#include "tests/oracle/matmul.h"

namespace segue::kernels {

namespace {

struct Case {
  int64_t rows, classes;
  bool bias;
};

std::vector<int32_t> random_targets(int64_t rows, int64_t classes) {
  std::vector<int32_t> targets;
  for (int64_t i = 0; i < rows; ++i) {
    const double u = random_uniform({1, 2, 3}, static_cast<uint64_t>(i));
    targets.push_back(static_cast<int32_t>(u * static_cast<double>(classes)));
  }
  return targets;
}

struct Gradients {
  TestTensor dlogits, dbias;
};

class CrossEntropyTest : public testing::TestWithParam<Case> {
 protected:
  Case size_ = GetParam();
  float scale_ = 1.0F / static_cast<float>(size_.rows);
  std::vector<int32_t> target_values_ = random_targets(size_.rows, size_.classes);
  TestTensor targets_ = index_tensor(target_values_);
  TestTensor logits_ = random_tensor({size_.rows, size_.classes}, 1, 3.0), bias_ = random_tensor({size_.classes}, 2);
  TestTensor nll_ = unset_tensor({size_.rows}), lse_ = unset_tensor({size_.rows});

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
    cross_entropy_forward(queue, {logits_.view(), bias_or_none(), targets_.view(), nll_.view(), lse_.view()});
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
  const std::vector<double> gradient =
      oracle::cross_entropy_gradient(biased_logits(), target_values_, static_cast<double>(scale_));
  expect_close("dlogits", found.dlogits.view(), gradient, kGradient);
  std::vector<double> dbias = oracle_values(random_tensor({size_.classes}, 3).view());
  if (size_.bias) dbias = oracle::sum_of(dbias, oracle::column_sums(gradient, size_.classes));
  expect_close("dbias", found.dbias.view(), dbias, kGradient);
}

TEST_P(CrossEntropyTest, SameBitsOnAnyNumberOfThreads) {
  const Gradients one = run(1);
  const TestTensor nll = copy_of(nll_.view());
  for (const int threads : {2, 3}) {
    const Gradients more = run(threads);
    expect_identical("nll", nll_.view(), nll.view());
    expect_identical("dlogits", more.dlogits.view(), one.dlogits.view());
    expect_identical("dbias", more.dbias.view(), one.dbias.view());
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
                                         Case{64, 10007, false}));

TEST(CrossEntropyOracle, GradientByComplexStep) {
  const std::vector<int32_t> targets{2, 0, 4};
  const std::vector<double> logits = oracle_values(random_tensor({3, 5}, 1, 3.0).view());
  const auto loss = [&](const ComplexVector& z) {
    return weighted_sum(oracle::cross_entropy(z, targets).nll, {0.7, 0.7, 0.7});
  };
  expect_close("dlogits", oracle::cross_entropy_gradient(logits, targets, 0.7), complex_step_gradient(logits, loss),
               kComplexStep);
}

// Forward over one row whose target is class 0.
std::pair<float, float> nll_and_lse(TestTensor logits) {
  Queue queue(test_device(), 1);
  const TestTensor target = index_tensor({0});
  TestTensor nll = unset_tensor({1}), lse = unset_tensor({1});
  cross_entropy_forward(queue,
                        {.logits = logits.view(), .targets = target.view(), .nll = nll.view(), .lse = lse.view()});
  return {nll.as<float>()[0], lse.as<float>()[0]};
}

TEST(CrossEntropy, LargeLogitsNeitherOverflowNorVanish) {
  EXPECT_FLOAT_EQ(nll_and_lse(filled_tensor({1, 4}, 3e38F)).first, std::log(4.0F));
  EXPECT_FLOAT_EQ(nll_and_lse(filled_tensor({1, 4}, -3e38F)).first, std::log(4.0F));
  TestTensor sure = filled_tensor({1, 3}, -1000.0F);
  sure.as<float>()[0] = 1000.0F;
  EXPECT_EQ(nll_and_lse(copy_of(sure.view())).first, 0.0F);
  std::swap(sure.as<float>()[0], sure.as<float>()[1]);
  EXPECT_EQ(nll_and_lse(copy_of(sure.view())).first, 2000.0F);
}

TEST(CrossEntropy, NanReachesTheLoss) {
  TestTensor logits = random_tensor({1, 100}, 1);
  logits.as<float>()[57] = NAN;
  EXPECT_TRUE(std::isnan(nll_and_lse(copy_of(logits.view())).first));
}

TEST(CrossEntropy, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  TestTensor logits(DType::kFloat32, {2, 3}), rows(DType::kFloat32, {2}), more_rows(DType::kFloat32, {2});
  const TestTensor outside = index_tensor({2, 3}), three = index_tensor({0, 1, 2}), inside = index_tensor({0, 1});
  if (!test_device().is_cuda()) {  // indices on a GPU are not looked at
    expect_contract_error(
        [&] {
          cross_entropy_forward(queue, {logits.view(), {}, outside.view(), rows.view(), more_rows.view()});
        },
        {"targets[1]", "[0, 3)", "found 3"});
  }
  expect_contract_error(
      [&] {
        cross_entropy_forward(queue, {logits.view(), {}, three.view(), rows.view(), more_rows.view()});
      },
      {"targets", "[2]", "[3]"});
  expect_contract_error(
      [&] {
        cross_entropy_backward(queue, {logits.view(), {}, inside.view(), rows.view(), 1.0F, rows.view()});
      },
      {"dbias", "without a bias"});
}

}  // namespace

}  // namespace segue::kernels
