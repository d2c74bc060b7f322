// The optimizer against the formulas: clip by the global norm, then the rule of its kind.
#include "core/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "tests/core/optimizer/optimizer_variants.h"
#include "tests/kernels/testing.h"
#include "tests/oracle/lamb.h"

namespace segue {
namespace {

constexpr double kRate = 0.01;

using OracleStep = std::function<oracle::OptimizerState(oracle::OptimizerState, const std::vector<double>& gradients,
                                                        double gradient_scale, int64_t step)>;

class OptimizerTest : public testing::Test {
 protected:
  OptimizerTest() {
    parameters_.initialize({.init_std = 1.0}, 3);
    for (const ParameterSpec& spec : parameters_.specs())
      gradients_.push_back(kernels::random_tensor(spec.shape, static_cast<uint16_t>(gradients_.size()), 0.5));
  }

  void set_gradients(double scale) {
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const TensorView view = parameters_.part_of(parameters_.gradients(), i);
      for (int64_t e = 0; e < view.elements(); ++e)
        view.as<float>()[e] = static_cast<float>(scale) * gradients_[i].as<float>()[e];
    }
  }

  std::vector<double> flat(TensorView view) const { return kernels::oracle_values(view); }

  static double norm_of(const std::vector<double>& gradients) {
    double squares = 0.0;
    for (const double g : gradients) squares += g * g;
    return std::sqrt(squares);
  }

  // Steps with gradients of different sizes, some above the clip and some below.
  void expect_formula(const OptimizerConfig& config) {
    const OracleStep expected = formula_of(config);
    Optimizer optimizer(config, parameters_, queue_);
    const std::vector<double> zeros(static_cast<size_t>(parameters_.values().elements()), 0.0);
    oracle::OptimizerState state{flat(parameters_.values()), zeros, zeros};
    int64_t t = 0;
    for (const double scale : {1.0, 0.02, 3.0, 0.1}) {
      set_gradients(scale);
      const std::vector<double> gradients = flat(parameters_.gradients());
      const double norm = norm_of(gradients);
      const double gradient_scale = config.clip > 0.0 ? std::min(1.0, config.clip / (norm + 1e-6)) : 1.0;
      optimizer.step(kRate);
      EXPECT_NEAR(optimizer.norm(), norm, 1e-6 * norm);
      state = expected(std::move(state), gradients, gradient_scale, ++t);
      EXPECT_EQ(optimizer.steps(), t);
      kernels::expect_close("values", parameters_.values(), state.p, kernels::kReduction);
      if (optimizer.moments() > 0) kernels::expect_close("moment 0", optimizer.moment(0), state.m, kernels::kReduction);
      if (optimizer.moments() > 1) expect_close_each(flat(optimizer.moment(1)), state.v);
    }
  }

  // Tiny, and sums of positive terms: each to its own size.
  static void expect_close_each(const std::vector<double>& found, const std::vector<double>& expected) {
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], kernels::kReduction.relative * expected[i]) << i;
  }

  // The step of the rule, by its formula. A kind without a case does not compile.
  OracleStep formula_of(const OptimizerConfig& config) const {
    kernels::ParameterUpdate update{};
    update.learning_rate = kRate;
    const double epsilon = effective_epsilon(config);
    switch (config.kind) {
      case OptimizerKind::kAdagrad:
        return [=](oracle::OptimizerState state, const std::vector<double>& gradients, double scale, int64_t) {
          const kernels::AdagradStep step{.update = update, .sum_of_squares = {}, .epsilon = epsilon};
          return oracle::adagrad_step(std::move(state), gradients, step, scale);
        };
      case OptimizerKind::kAdam:
      case OptimizerKind::kAdamw:
        return [=](oracle::OptimizerState state, const std::vector<double>& gradients, double scale, int64_t t) {
          const kernels::AdamStep step{.update = update,
                                       .first_moment = {},
                                       .second_moment = {},
                                       .beta1 = config.beta1,
                                       .beta2 = config.beta2,
                                       .epsilon = epsilon,
                                       .weight_decay = config.weight_decay,
                                       .step = t};
          return oracle::adam_step(std::move(state), gradients, step, scale);
        };
      case OptimizerKind::kLamb:
        return [=, this](oracle::OptimizerState state, const std::vector<double>& gradients, double scale, int64_t) {
          const oracle::LambConstants constants{.learning_rate = kRate,
                                                .beta1 = config.beta1,
                                                .beta2 = config.beta2,
                                                .epsilon = epsilon,
                                                .weight_decay = config.weight_decay};
          return lamb_step(std::move(state), gradients, constants, scale);
        };
      case OptimizerKind::kSgd:
        return [=](oracle::OptimizerState state, const std::vector<double>& gradients, double scale, int64_t) {
          const kernels::SgdStep step{.update = update, .momentum = config.momentum};
          return oracle::sgd_step(std::move(state), gradients, step, scale);
        };
    }
    throw ContractError("unknown optimizer kind");
  }

  // Each tensor has a ratio of its own. What pads them stays zero.
  oracle::OptimizerState lamb_step(oracle::OptimizerState state, const std::vector<double>& gradients,
                                   const oracle::LambConstants& constants, double scale) const {
    for (size_t i = 0; i < parameters_.specs().size(); ++i) {
      const auto part = [&](const std::vector<double>& flat) {
        const auto begin = flat.begin() + parameters_.offset_of(i);
        return std::vector<double>(begin, begin + parameters_.specs()[i].shape.elements());
      };
      const auto put = [&](std::vector<double>& flat, const std::vector<double>& values) {
        std::copy(values.begin(), values.end(), flat.begin() + parameters_.offset_of(i));
      };
      const oracle::OptimizerState own =
          oracle::lamb_step({part(state.p), part(state.m), part(state.v)}, part(gradients), constants, scale);
      put(state.p, own.p);
      put(state.m, own.m);
      put(state.v, own.v);
    }
    return state;
  }

  kernels::Queue queue_{2};
  Parameters parameters_{{{"a", {13, 7}}, {"b", {5}}}};
  std::vector<kernels::TestTensor> gradients_;
};

class EveryOptimizer : public OptimizerTest, public testing::WithParamInterface<OptimizerVariant> {};
INSTANTIATE_TEST_SUITE_P(All, EveryOptimizer, testing::ValuesIn(optimizer_variants()), name_of_optimizer);

// The gradients' norm is near 5, 0.1, 15 and 0.5.
TEST_P(EveryOptimizer, FollowsItsFormula) { expect_formula(GetParam().config); }

TEST_P(EveryOptimizer, FollowsItsFormulaWithOtherKeys) {
  OptimizerConfig config = GetParam().config;
  config.beta1 = 0.8;
  config.beta2 = 0.95;
  config.epsilon = 1e-3;
  config.weight_decay = 0.3;
  config.clip = 1.0;
  expect_formula(config);
}

TEST_F(OptimizerTest, WithoutClip) { expect_formula({.clip = 0.0}); }

TEST_F(OptimizerTest, HoldsOnlyTheMomentsItNeeds) {
  const Buckets one(1600, 0), two(1600, 0, 2);
  const auto bytes = [&](OptimizerConfig config, const Buckets& buckets) {
    EXPECT_EQ(Optimizer(config, parameters_, queue_).moments(), moment_names(config).size());
    return Optimizer::bytes(config, buckets);
  };
  EXPECT_EQ(bytes({}, one), 2 * 6400);
  EXPECT_EQ(bytes({.kind = OptimizerKind::kSgd, .momentum = 0.5}, one), 6400);
  EXPECT_EQ(bytes({.kind = OptimizerKind::kSgd}, one), 0);
  EXPECT_EQ(bytes({.kind = OptimizerKind::kAdagrad}, two), 6400);  // half a sum of squares, half the gradients' sums
}

TEST_F(OptimizerTest, DoesNothingWhenTheNormIsNotFinite) {
  Optimizer optimizer({}, parameters_, queue_);
  set_gradients(1.0);
  optimizer.step(kRate);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const kernels::TestTensor values = kernels::copy_of(parameters_.values());
    const kernels::TestTensor moment = kernels::copy_of(optimizer.moment(0));
    parameters_["b"].gradient.as<float>()[2] = bad;
    optimizer.step(kRate);
    EXPECT_FALSE(std::isfinite(optimizer.norm()));
    kernels::expect_identical("values", parameters_.values(), values.view());
    kernels::expect_identical("first moment", optimizer.moment(0), moment.view());
  }
}

// Two steps, or one, its state carried to another optimizer, and one more: the same bits.
TEST_P(EveryOptimizer, CarriesItsStateOver) {
  const kernels::TestTensor start = kernels::copy_of(parameters_.values());
  const OptimizerConfig& config = GetParam().config;
  const auto two_steps = [&](bool hand_over) {
    std::copy_n(start.view().data, start.view().bytes(), parameters_.values().data);
    Optimizer first(config, parameters_, queue_);
    Optimizer second(config, parameters_, queue_);
    set_gradients(1.0);
    first.step(kRate);
    for (size_t i = 0; i < first.moments(); ++i) second.restore_moment(i, first.collect_moment(i)->view());
    second.set_steps(first.steps());
    set_gradients(0.1);
    (hand_over ? second : first).step(kRate);
    return kernels::copy_of(parameters_.values());
  };
  kernels::expect_identical("values", two_steps(true).view(), two_steps(false).view());
}

}  // namespace
}  // namespace segue
