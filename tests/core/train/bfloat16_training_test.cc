// Training in bfloat16 on the processor: near the losses of float32, and a resumed run bit for bit.
#include <gtest/gtest.h>

#include "tests/core/train/small_run.h"
#include "tests/kernels/bfloat16.h"
#include "tests/oracle/kinds_of_memory.h"

namespace segue {
namespace {

constexpr Compute kFloat32{};
constexpr Compute kBFloat16{.activations = DType::kBFloat16};

// All but those that choose among rows: rounding may turn a choice. It may also make a token halt a pass later, of
// which no more than epsilon of its row changes.
std::vector<ModelVariant> continuous_variants() {
  std::vector<ModelVariant> variants = model_variants();
  std::erase_if(variants, [](const ModelVariant& variant) { return keeps_most_used(variant.config()); });
  return variants;
}

using BFloat16Training = kernels::WithBFloat16Products<testing::TestWithParam<ModelVariant>>;
INSTANTIATE_TEST_SUITE_P(All, BFloat16Training, testing::ValuesIn(continuous_variants()), name_of_variant);

double mean_loss(const std::vector<StepReport>& steps) {
  double sum = 0.0;
  for (const StepReport& step : steps) sum += step.loss();
  return sum / static_cast<double>(steps.size());
}

// Single steps may lie further apart: in float32, with nothing but the initial weights rounded to bfloat16, the loss of
// a sixth step is off by up to 3.1 %, the mean of six by up to 0.6 %.
constexpr double kMeanLossInBFloat16 = 0.01;

TEST_P(BFloat16Training, StaysNearFloat32) {
  const ModelConfig config = with_dropout(GetParam());
  const double expected = mean_loss(SmallRun(config, kFloat32).train(0, kMostSteps));
  EXPECT_NEAR(mean_loss(SmallRun(config, kBFloat16).train(0, kMostSteps)), expected, kMeanLossInBFloat16 * expected);
}

using BFloat16Resume = kernels::WithBFloat16Products<testing::Test>;
TEST_F(BFloat16Resume, GoesOnBitForBit) { expect_resumes_bit_for_bit(kBFloat16); }

}  // namespace
}  // namespace segue
