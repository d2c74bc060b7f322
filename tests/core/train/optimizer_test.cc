// The optimizer against the formula: clip by the global norm, then Adam.
#include "core/train/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/kernels/testing.h"
#include "tests/oracle/adam.h"

namespace segue {
namespace {

constexpr double kRate = 0.01;

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
    Optimizer optimizer(config, parameters_, stream_);
    oracle::AdamState expected{flat(parameters_.values()), flat(optimizer.first_moment()),
                               flat(optimizer.second_moment())};
    int64_t t = 0;
    for (const double scale : {1.0, 0.02, 3.0, 0.1}) {
      set_gradients(scale);
      const std::vector<double> gradients = flat(parameters_.gradients());
      const double norm = norm_of(gradients);
      kernels::AdamStep formula;
      formula.learning_rate = kRate;
      formula.beta1 = config.beta1;
      formula.beta2 = config.beta2;
      formula.epsilon = config.epsilon;
      formula.weight_decay = config.weight_decay;
      const double gradient_scale = config.clip > 0.0 ? std::min(1.0, config.clip / (norm + 1e-6)) : 1.0;
      formula.step = ++t;
      optimizer.step(kRate);
      EXPECT_NEAR(optimizer.norm(), norm, 1e-6 * norm);
      expected = oracle::adam_step(std::move(expected), gradients, formula, gradient_scale);
      EXPECT_EQ(optimizer.steps(), t);
      kernels::expect_close("values", parameters_.values(), expected.p, kernels::kReduction);
      kernels::expect_close("first moment", optimizer.first_moment(), expected.m, kernels::kReduction);
      const std::vector<double> second_moment = flat(optimizer.second_moment());
      for (size_t i = 0; i < expected.v.size(); ++i)  // tiny, and sums of positive terms: each to its own size
        EXPECT_NEAR(second_moment[i], expected.v[i], kernels::kReduction.relative * expected.v[i]) << i;
    }
  }

  kernels::Stream stream_{2};
  Parameters parameters_{{{"a", {13, 7}}, {"b", {5}}}};
  std::vector<OwnedTensor> gradients_;
};

// The gradients' norm is near 5, 0.1, 15 and 0.5.
TEST_F(OptimizerTest, ClippedAdam) { expect_formula({.clip = 0.25}); }

TEST_F(OptimizerTest, WithoutClip) { expect_formula({.clip = 0.0}); }

TEST_F(OptimizerTest, AdamwAndOtherConstants) {
  expect_formula(
      {.kind = OptimizerKind::kAdamw, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.3, .clip = 1.0});
}

TEST_F(OptimizerTest, DoesNothingWhenTheNormIsNotFinite) {
  Optimizer optimizer({}, parameters_, stream_);
  set_gradients(1.0);
  optimizer.step(kRate);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const OwnedTensor values = kernels::copy_of(parameters_.values());
    const OwnedTensor moment = kernels::copy_of(optimizer.first_moment());
    parameters_["b"].gradient.as<float>()[2] = bad;
    optimizer.step(kRate);
    EXPECT_FALSE(std::isfinite(optimizer.norm()));
    kernels::expect_identical("values", parameters_.values(), values.view());
    kernels::expect_identical("first moment", optimizer.first_moment(), moment.view());
  }
}

// Two steps, or one, its state carried to another optimizer, and one more: the same bits.
TEST_F(OptimizerTest, StateCarriesOver) {
  const OwnedTensor start = kernels::copy_of(parameters_.values());
  const auto two_steps = [&](bool hand_over) {
    std::copy_n(start.view().data, start.view().bytes(), parameters_.values().data);
    Optimizer first({}, parameters_, stream_);
    Optimizer second({}, parameters_, stream_);
    set_gradients(1.0);
    first.step(kRate);
    std::copy_n(first.first_moment().data, first.first_moment().bytes(), second.first_moment().data);
    std::copy_n(first.second_moment().data, first.second_moment().bytes(), second.second_moment().data);
    second.set_steps(first.steps());
    set_gradients(0.1);
    (hand_over ? second : first).step(kRate);
    return kernels::copy_of(parameters_.values());
  };
  kernels::expect_identical("values", two_steps(true).view(), two_steps(false).view());
}

}  // namespace
}  // namespace segue
