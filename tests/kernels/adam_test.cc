// Adam against the oracle over several steps, and the norm's independence of threads.
#include "kernels/adam.h"

#include <array>

#include "tests/kernels/testing.h"
#include "tests/oracle/adam.h"

namespace segue::kernels {

namespace {

struct Optimizer {
  explicit Optimizer(int64_t count)
      : p(random_tensor({count}, 1)), m(filled_tensor({count}, 0.0F)), v(filled_tensor({count}, 0.0F)) {}
  OwnedTensor p, m, v;

  AdamStep args(ConstTensorView gradients) { return {p.view(), gradients, m.view(), v.view()}; }
};

TEST(Adam, FollowsTheOracleOverTenSteps) {
  Stream stream(test_device(), 2);
  constexpr double kGradientScale = 0.5;
  OwnedTensor outcome = test_tensor(DType::kFloat64, {2});
  outcome.as<double>()[1] = kGradientScale;
  for (const double weight_decay : {0.0, 0.1}) {
    for (const int64_t count : {1, 31, 32, 33, 1031, 2052, 70001}) {
      Optimizer optimizer(count);
      oracle::AdamState state{oracle_values(optimizer.p.view()), oracle_values(optimizer.m.view()),
                              oracle_values(optimizer.v.view())};
      for (int64_t t = 1; t <= 10; ++t) {
        const OwnedTensor gradients = random_tensor({count}, static_cast<uint16_t>(10 + t));
        AdamStep args = optimizer.args(gradients.view());
        args.learning_rate = 0.5;  // as large as the parameters: an error in the step shows
        args.beta2 = 0.99;
        args.weight_decay = weight_decay;
        args.clipped = outcome.view();
        args.step = t;
        adam_step(stream, args);
        state = oracle::adam_step(state, oracle_values(gradients.view()), args, kGradientScale);
      }
      expect_close("p", optimizer.p.view(), state.p, kReduction);
      expect_close("m", optimizer.m.view(), state.m, kReduction);
      expect_close("v", optimizer.v.view(), state.v, kReduction);
    }
  }
}

TEST(Adam, TheFirstStepHasTheLengthOfTheLearningRate) {
  Stream stream(test_device(), 1);
  Optimizer optimizer(4);
  const OwnedTensor before = copy_of(optimizer.p.view()), gradients = random_tensor({4}, 2);
  AdamStep args = optimizer.args(gradients.view());
  args.learning_rate = 0.25;
  adam_step(stream, args);
  for (int i = 0; i < 4; ++i) {
    const float moved = before.as<float>()[i] - optimizer.p.as<float>()[i];
    EXPECT_NEAR(moved, std::copysign(0.25F, gradients.as<float>()[i]), 1e-6F);  // p of order 1: a few eps
  }
}

TEST(Adam, SameBitsOnAnyNumberOfThreads) {
  const OwnedTensor gradients = random_tensor({100003}, 2);
  Stream one(test_device(), 1), three(test_device(), 3);
  Optimizer a(100003), b(100003);
  AdamStep args = a.args(gradients.view());
  args.learning_rate = 1e-3;
  adam_step(one, args);
  args = b.args(gradients.view());
  args.learning_rate = 1e-3;
  adam_step(three, args);
  expect_identical("p", a.p.view(), b.p.view());
  expect_identical("v", a.v.view(), b.v.view());
}

double norm_of(const OwnedTensor& gradients) {
  long double sum = 0.0L;
  for (int64_t i = 0; i < gradients.shape()[0]; ++i)
    sum += static_cast<long double>(gradients.as<float>()[i]) * gradients.as<float>()[i];
  return std::sqrt(static_cast<double>(sum));
}

// Norm and scale.
std::array<double, 2> clipped(int threads, const OwnedTensor& gradients, double clip) {
  Stream stream(test_device(), threads);
  OwnedTensor parts = test_tensor(DType::kFloat64, {kGradientNormParts});
  OwnedTensor outcome = test_tensor(DType::kFloat64, {2});
  gradient_norm(stream, {gradients.view(), parts.view()});
  clip_gradients(stream, {parts.view(), clip, outcome.view()});
  return {outcome.as<double>()[0], outcome.as<double>()[1]};
}

TEST(GradientClip, NormEqualsTheSumInDouble) {
  for (const int64_t count : {0, 1, 257, 1031, 600004}) {
    const OwnedTensor g = random_tensor({count}, 1);
    const double expected = norm_of(g);
    const auto [norm, scale] = clipped(2, g, 0.0);
    EXPECT_NEAR(norm, expected, 1e-12 * expected);  // 6e5 additions in double, in hundreds of sums
    EXPECT_EQ(scale, 1.0);
  }
}

TEST(GradientClip, ScaleBringsTheNormDownToTheClip) {
  const OwnedTensor g = random_tensor({1031}, 1);
  const double norm = norm_of(g);
  EXPECT_NEAR(clipped(1, g, 0.25)[1], 0.25 / (norm + 1e-6), 1e-12);
  EXPECT_EQ(clipped(1, g, 2.0 * norm)[1], 1.0);
}

TEST(GradientClip, SameBitsOnAnyNumberOfThreads) {
  const OwnedTensor g = random_tensor({100003}, 1);
  const std::array<double, 2> one = clipped(1, g, 0.25);
  EXPECT_EQ(clipped(2, g, 0.25), one);
  EXPECT_EQ(clipped(3, g, 0.25), one);
}

TEST(GradientClip, NanIsNotLost) {
  OwnedTensor g = random_tensor({50000}, 1);
  g.as<float>()[49999] = NAN;
  EXPECT_TRUE(std::isnan(clipped(2, g, 0.25)[0]));
}

TEST(Adam, DoesNothingWhenTheNormIsNotFinite) {
  Stream stream(test_device(), 2);
  for (const double norm : {std::nan(""), HUGE_VAL}) {
    Optimizer optimizer(33);
    const OwnedTensor gradients = random_tensor({33}, 2), p = copy_of(optimizer.p.view());
    OwnedTensor outcome = test_tensor(DType::kFloat64, {2});
    outcome.as<double>()[0] = norm;
    outcome.as<double>()[1] = 1.0;
    AdamStep args = optimizer.args(gradients.view());
    args.clipped = outcome.view();
    args.learning_rate = 0.1;
    adam_step(stream, args);
    expect_identical("p", optimizer.p.view(), p.view());
    expect_identical("m", optimizer.m.view(), filled_tensor({33}, 0.0F).view());
    expect_identical("v", optimizer.v.view(), filled_tensor({33}, 0.0F).view());
  }
}

TEST(Adam, RefusesWhatItsContractForbids) {
  Stream stream(test_device(), 1);
  Optimizer optimizer(4);
  const OwnedTensor gradients = random_tensor({4}, 2), shorter = random_tensor({3}, 2);
  const AdamStep good = optimizer.args(gradients.view());
  const auto expect_refused = [&](auto spoil, const std::vector<std::string>& words) {
    AdamStep args = good;
    spoil(args);
    expect_contract_error([&] { adam_step(stream, args); }, words);
  };
  expect_refused([&](AdamStep& args) { args.gradients = shorter.view(); }, {"gradients", "[4]", "[3]"});
  expect_refused([&](AdamStep& args) { args.gradients = optimizer.p.view(); }, {"parameters", "apart from gradients"});
  expect_refused([](AdamStep& args) { args.step = 0; }, {"step", "1 or more"});
  expect_refused([](AdamStep& args) { args.beta2 = 1.0; }, {"beta2", "[0, 1)"});
}

}  // namespace

}  // namespace segue::kernels
