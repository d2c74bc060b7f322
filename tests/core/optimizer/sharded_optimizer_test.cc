// Optimizers of which each rank holds a part, against one that holds everything.
#include <gtest/gtest.h>

#include <vector>

#include "core/optimizer/optimizer.h"
#include "tests/core/optimizer/optimizer_variants.h"
#include "tests/distributed/job.h"
#include "tests/kernels/testing.h"

namespace segue {
namespace {

constexpr double kRate = 0.05;
constexpr int64_t kBucket = 500;  // elements: tensors are cut by buckets, and buckets by ranks

// The same parameters and gradients on every rank.
struct Problem {
  Problem()
      : parameters({{"a", {53, 17}},
                    {.name = "bounded",
                     .shape = {250},
                     .initializer = Initializer::kConstant,
                     .constant = 0.1F,
                     .bounds = ParameterBounds{.penalty = 0.001F}},
                    {"b", {31}},
                    {"c", {700}},
                    {"d", {1}}},
                   {}, Buckets::aligned_elements(job().size())) {
    parameters.initialize({.init_std = 0.5}, 3);
  }

  void set_gradients(uint16_t step) {
    const kernels::TestTensor random = kernels::random_tensor(parameters.gradients().shape, step, 0.01);
    for (size_t i = 0; i < parameters.specs().size(); ++i)
      copy_tensor(parameters.part_of(parameters.gradients(), i), parameters.part_of(random.view(), i), {});
  }

  Parameters parameters;
  kernels::Queue queue{1};
};

kernels::TestTensor train_whole(const OptimizerConfig& config) {
  Problem problem;
  Optimizer optimizer(config, problem.parameters, problem.queue);
  for (uint16_t step = 1; step <= 4; ++step) {
    problem.set_gradients(step);
    optimizer.step(kRate);
  }
  return kernels::copy_of(problem.parameters.values());
}

kernels::TestTensor train_sharded(const OptimizerConfig& config) {
  Problem problem;
  const TensorView gradients = problem.parameters.gradients();
  const Buckets buckets(gradients.elements(), kBucket, job().size());
  Optimizer optimizer(config, problem.parameters, problem.queue, buckets, collectives());
  for (uint16_t step = 1; step <= 4; ++step) {
    problem.set_gradients(step);
    for (int64_t b = 0; b < buckets.count(); ++b)
      copy_tensor(part_of(optimizer.gradient_shard(), buckets.in_shard(b)),
                  part_of(gradients, buckets.part(b, job().rank())), {});
    optimizer.step(kRate);
  }
  return kernels::copy_of(problem.parameters.values());
}

class ShardedOptimizer : public testing::TestWithParam<OptimizerVariant> {};
INSTANTIATE_TEST_SUITE_P(All, ShardedOptimizer, testing::ValuesIn(optimizer_variants()), name_of_optimizer);

// Norms are summed over other parts: their last bit may differ, and with it that of what they scale.
TEST_P(ShardedOptimizer, EqualsAWholeOne) {
  const OptimizerConfig& config = GetParam().config;
  kernels::expect_close("values", train_sharded(config).view(), kernels::oracle_values(train_whole(config).view()),
                        kernels::kElementwise);
}

TEST_P(ShardedOptimizer, GivesAllRanksTheSameBitsEveryTime) {
  const OptimizerConfig& config = GetParam().config;
  const kernels::TestTensor first = train_sharded(config), second = train_sharded(config);
  kernels::expect_identical("again", first.view(), second.view());
  const std::string bytes(reinterpret_cast<const char*>(first.view().data), static_cast<size_t>(first.view().bytes()));
  for (const std::string& other : job().gather(bytes)) EXPECT_TRUE(other == bytes);
}

}  // namespace
}  // namespace segue
