// Parameters in a range: penalties, what an update may not leave, and no weight decay.
#include "core/optimizer/bounded_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/optimizer/optimizer.h"
#include "tests/core/optimizer/optimizer_variants.h"
#include "tests/kernels/testing.h"

namespace segue {
namespace {

class BoundedParametersTest : public testing::Test {
 protected:
  BoundedParametersTest() { parameters_.initialize({.init_std = 1.0}, 3); }

  void set_gradient(float each) {
    const TensorView gradient = parameters_["z"].gradient;
    std::fill_n(gradient.as<float>(), gradient.elements(), each);
  }
  std::vector<double> z() { return kernels::oracle_values(parameters_["z"].value); }
  std::vector<double> weights() { return kernels::oracle_values(parameters_["a"].value); }

  static constexpr float kPenalty = 0.25F;
  Parameters parameters_{{{"a", {5}},
                          {.name = "z",
                           .shape = {3},
                           .initializer = Initializer::kConstant,
                           .constant = 0.5F,
                           .bounds = ParameterBounds{.penalty = kPenalty}},
                          {"b", {40}}}};
  kernels::Queue queue_{1};
};

TEST_F(BoundedParametersTest, BeginAsTheirConstants) {
  EXPECT_EQ(z(), (std::vector<double>{0.5, 0.5, 0.5}));
  Parameters unset({{.name = "z", .shape = {2}, .initializer = Initializer::kConstant, .constant = 0.75F}});
  EXPECT_EQ(kernels::oracle_values(unset["z"].value), (std::vector<double>{0.75, 0.75}));
}

// Whatever else is in a gradient; and it is part of the norm that is clipped.
TEST_F(BoundedParametersTest, PenaltiesAreAddedOnceAStep) {
  Optimizer optimizer({.kind = OptimizerKind::kSgd, .clip = 0.0}, parameters_, queue_);
  const std::vector<double> before = weights();
  optimizer.step(0.125);
  EXPECT_EQ(z(), std::vector<double>(3, 0.5 - 0.125 * 0.25));
  EXPECT_EQ(weights(), before);
  EXPECT_NEAR(optimizer.norm(), 0.25 * std::sqrt(3.0), 1e-7);
  set_gradient(-1.0F);
  optimizer.step(0.125);
  EXPECT_EQ(z(), std::vector<double>(3, 0.5 - 0.125 * 0.25 + 0.125 * 0.75));
}

TEST_F(BoundedParametersTest, NoUpdateLeavesTheRange) {
  for (const OptimizerVariant& variant : optimizer_variants()) {
    OptimizerConfig config = variant.config;
    config.clip = 0.0;
    Optimizer optimizer(config, parameters_, queue_);
    for (const float each : {-1e3F, 1e3F}) {
      for (int step = 0; step < 40; ++step) {
        set_gradient(each);
        optimizer.step(0.5);
        for (const double share : z()) EXPECT_TRUE(share >= 0.0 && share <= 1.0) << variant.name;
      }
      for (const double share : z()) EXPECT_NEAR(share, each < 0.0F ? 1.0 : 0.0, 1e-6) << variant.name;
    }
  }
}

TEST_F(BoundedParametersTest, WeightDecayLeavesThemAlone) {
  for (const OptimizerKind kind : {OptimizerKind::kAdamw, OptimizerKind::kLamb}) {
    Optimizer optimizer({.kind = kind, .weight_decay = 0.5}, parameters_, queue_);
    for (const float share : {0.25F, 1.0F}) {
      std::fill_n(parameters_["z"].value.as<float>(), 3, share);
      const std::vector<double> before = weights();
      set_gradient(-kPenalty);  // which the penalty undoes
      optimizer.step(0.1);
      EXPECT_EQ(z(), std::vector<double>(3, static_cast<double>(share)));
      EXPECT_NE(weights(), before);
    }
  }
}

}  // namespace
}  // namespace segue
