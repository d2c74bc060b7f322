// Steps of optimizers against the oracle, several in a row.
#include "kernels/optimizer_step.h"

#include <array>
#include <functional>

#include "tests/kernels/testing.h"
#include "tests/oracle/optimizer_step.h"

namespace segue::kernels {

namespace {

constexpr double kRate = 0.5;  // as large as the parameters: an error in a step shows
constexpr double kGradientScale = 0.5;

// A block of parameters with what an optimizer keeps.
struct Block {
  explicit Block(int64_t count)
      : p(random_tensor({count}, 1)), m(filled_tensor({count}, 0.0F)), v(filled_tensor({count}, 0.0F)) {}
  TestTensor p, m, v;

  ParameterUpdate update(ConstTensorView gradients, ConstTensorView clipped = {}) {
    return {.parameters = p.view(), .gradients = gradients, .clipped = clipped, .learning_rate = kRate};
  }
};

TestTensor outcome_of(double norm, double scale) {
  TestTensor outcome(DType::kFloat64, {2});
  outcome.as<double>()[0] = norm;
  outcome.as<double>()[1] = scale;
  return outcome;
}

// The part of an update that the oracle reads.
ParameterUpdate rate_alone() {
  ParameterUpdate update{};
  update.learning_rate = kRate;
  return update;
}

// One optimizer: its kernel and its oracle.
struct Case {
  const char* name;
  std::function<void(Queue&, Block&, const ParameterUpdate&, int64_t step)> run;
  std::function<oracle::OptimizerState(oracle::OptimizerState, const std::vector<double>&, double scale, int64_t step)>
      expected;
};

Case adam(const char* name, double weight_decay) {
  const auto args = [=](Block* block, const ParameterUpdate& update, int64_t step) {
    return AdamStep{.update = update,
                    .first_moment = block == nullptr ? TensorView{} : block->m.view(),
                    .second_moment = block == nullptr ? TensorView{} : block->v.view(),
                    .beta2 = 0.99,
                    .weight_decay = weight_decay,
                    .step = step};
  };
  return {name,
          [=](Queue& queue, Block& block, const ParameterUpdate& update, int64_t step) {
            adam_step(queue, args(&block, update, step));
          },
          [=](oracle::OptimizerState state, const std::vector<double>& gradients, double scale, int64_t step) {
            return oracle::adam_step(std::move(state), gradients, args(nullptr, rate_alone(), step), scale);
          }};
}

Case adagrad() {
  return {"adagrad",
          [](Queue& queue, Block& block, const ParameterUpdate& update, int64_t) {
            adagrad_step(queue, {.update = update, .sum_of_squares = block.m.view()});
          },
          [](oracle::OptimizerState state, const std::vector<double>& gradients, double scale, int64_t) {
            return oracle::adagrad_step(std::move(state), gradients, {.update = rate_alone(), .sum_of_squares = {}},
                                        scale);
          }};
}

Case sgd(const char* name, double momentum) {
  return {name,
          [=](Queue& queue, Block& block, const ParameterUpdate& update, int64_t) {
            const TensorView velocity = momentum == 0.0 ? TensorView{} : block.m.view();
            sgd_step(queue, {.update = update, .velocity = velocity, .momentum = momentum});
          },
          [=](oracle::OptimizerState state, const std::vector<double>& gradients, double scale, int64_t) {
            return oracle::sgd_step(std::move(state), gradients, {.update = rate_alone(), .momentum = momentum}, scale);
          }};
}

std::vector<Case> cases() {
  return {adam("adam", 0.0), adam("adamw", 0.1), adagrad(), sgd("sgd", 0.0), sgd("momentum", 0.9)};
}

class OptimizerStep : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, OptimizerStep, testing::ValuesIn(cases()),
                         [](const auto& variant) { return variant.param.name; });

TEST_P(OptimizerStep, FollowsTheOracleOverTenSteps) {
  Queue queue(test_device(), 2);
  const TestTensor outcome = outcome_of(1.0, kGradientScale);
  for (const int64_t count : {1, 31, 32, 33, 1031, 2052, 70001}) {
    Block block(count);
    oracle::OptimizerState state{oracle_values(block.p.view()), oracle_values(block.m.view()),
                                 oracle_values(block.v.view())};
    const bool keeps = std::string(GetParam().name) != "sgd";  // the oracle always has a velocity
    for (int64_t t = 1; t <= 10; ++t) {
      const TestTensor gradients = random_tensor({count}, static_cast<uint16_t>(10 + t));
      GetParam().run(queue, block, block.update(gradients.view(), outcome.view()), t);
      state = GetParam().expected(std::move(state), oracle_values(gradients.view()), kGradientScale, t);
    }
    expect_close("p", block.p.view(), state.p, kReduction);
    if (keeps) expect_close("m", block.m.view(), state.m, kReduction);
    expect_close("v", block.v.view(), state.v, kReduction);
  }
}

TEST_P(OptimizerStep, SameBitsOnAnyNumberOfThreads) {
  const TestTensor gradients = random_tensor({100003}, 2);
  Queue one(test_device(), 1), three(test_device(), 3);
  Block a(100003), b(100003);
  GetParam().run(one, a, a.update(gradients.view()), 1);
  GetParam().run(three, b, b.update(gradients.view()), 1);
  expect_identical("p", a.p.view(), b.p.view());
  expect_identical("m", a.m.view(), b.m.view());
  expect_identical("v", a.v.view(), b.v.view());
}

TEST_P(OptimizerStep, DoesNothingWhenTheNormIsNotFinite) {
  Queue queue(test_device(), 2);
  for (const double norm : {std::nan(""), HUGE_VAL}) {
    Block block(33);
    const TestTensor gradients = random_tensor({33}, 2), p = copy_of(block.p.view());
    const TestTensor outcome = outcome_of(norm, 1.0);
    GetParam().run(queue, block, block.update(gradients.view(), outcome.view()), 1);
    expect_identical("p", block.p.view(), p.view());
    expect_identical("m", block.m.view(), filled_tensor({33}, 0.0F).view());
    expect_identical("v", block.v.view(), filled_tensor({33}, 0.0F).view());
  }
}

// Holds for Adam and for Adagrad.
TEST(FirstOptimizerStep, HasTheLengthOfTheLearningRate) {
  Queue queue(test_device(), 1);
  for (const Case& kind : {adam("adam", 0.0), adagrad()}) {
    Block block(4);
    const TestTensor before = copy_of(block.p.view()), gradients = random_tensor({4}, 2);
    kind.run(queue, block, block.update(gradients.view()), 1);
    for (int i = 0; i < 4; ++i) {
      const float moved = before.as<float>()[i] - block.p.as<float>()[i];
      EXPECT_NEAR(moved, std::copysign(kRate, gradients.as<float>()[i]), 1e-6F);  // p of order 1: a few eps
    }
  }
}

TEST(AdamStep, RefusesWhatItsContractForbids) {
  Queue queue(test_device(), 1);
  Block block(4);
  const TestTensor gradients = random_tensor({4}, 2), shorter = random_tensor({3}, 2);
  const AdamStep good{block.update(gradients.view()), block.m.view(), block.v.view()};
  const auto expect_refused = [&](auto spoil, const std::vector<std::string>& words) {
    AdamStep args = good;
    spoil(args);
    expect_contract_error([&] { adam_step(queue, args); }, words);
  };
  expect_refused([&](AdamStep& args) { args.update.gradients = shorter.view(); }, {"gradients", "[4]", "[3]"});
  expect_refused([&](AdamStep& args) { args.update.gradients = block.p.view(); },
                 {"parameters", "apart from gradients"});
  expect_refused([&](AdamStep& args) { args.second_moment = block.m.view(); },
                 {"first_moment", "apart from second_moment"});
  expect_refused([](AdamStep& args) { args.step = 0; }, {"step", "1 or more"});
  expect_refused([](AdamStep& args) { args.beta2 = 1.0; }, {"beta2", "[0, 1)"});
}

TEST(SgdStep, KeepsAVelocityWhenThereIsMomentum) {
  Queue queue(test_device(), 1);
  Block block(4);
  const TestTensor gradients = random_tensor({4}, 2);
  SgdStep args{.update = block.update(gradients.view()), .velocity = block.m.view()};
  expect_contract_error([&] { sgd_step(queue, args); }, {"velocity", "without momentum"});
  args.velocity = {};
  args.momentum = 0.9;
  expect_contract_error([&] { sgd_step(queue, args); }, {"velocity", "[4]"});
}

}  // namespace

}  // namespace segue::kernels
