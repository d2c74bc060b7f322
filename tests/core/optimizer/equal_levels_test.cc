// Ranks on processors of different levels clip alike and update alike, to the last bit, when their gradients are equal.
#include <gtest/gtest.h>

#include "core/optimizer/optimizer.h"
#include "kernels/cpu/operations.h"
#include "tests/core/optimizer/optimizer_variants.h"
#include "tests/kernels/cpu/asked_level.h"
#include "tests/kernels/testing.h"

namespace segue {
namespace {

// What a rank computes with.
class Rank {
 public:
  Rank(const char* level, int threads, const OptimizerConfig& config)
      : asked_(level), queue_(threads), optimizer_(config, parameters_, queue_) {
    parameters_.initialize({.init_std = 1.0}, 1);
    parameters_.refresh_compute_copy();
    for (size_t i = 0; i < parameters_.specs().size(); ++i)
      copy_tensor(parameters_.part_of(parameters_.gradients(), i),
                  kernels::random_tensor(parameters_.specs()[i].shape, static_cast<uint16_t>(i)).view(), {});
  }

  void step() { optimizer_.step(0.1); }

  void expect_equal(Rank& other) {
    kernels::expect_identical("outcome", optimizer_.outcome(), other.optimizer_.outcome());
    kernels::expect_identical("parameters", parameters_.values(), other.parameters_.values());
    kernels::expect_identical("copy", parameters_.compute_copy(), other.parameters_.compute_copy());
    for (size_t i = 0; i < optimizer_.moments(); ++i)
      kernels::expect_identical("moment", optimizer_.moment(i), other.optimizer_.moment(i));
  }

 private:
  kernels::AskedLevel asked_;
  kernels::Queue queue_;
  Parameters parameters_{{{"a", {40003}}, {"b", {29998}}}, {.activations = DType::kBFloat16}};
  Optimizer optimizer_;
};

class EqualLevels : public testing::TestWithParam<OptimizerVariant> {};
INSTANTIATE_TEST_SUITE_P(All, EqualLevels, testing::ValuesIn(optimizer_variants()), name_of_optimizer);

// Enough steps that every moment takes part.
TEST_P(EqualLevels, UpdateAlike) {
  // Where a processor runs one level only, or a build has one, there is no other to be equal to.
  if (kernels::cpu::best_level().level != "x86-64-v4") GTEST_SKIP() << "one level alone here";
  OptimizerConfig config = GetParam().config;
  config.weight_decay = 0.01;  // for the rules that have one
  config.clip = 1.0;
  Rank lower("x86-64-v3", 1, config), higher("x86-64-v4", 2, config);
  for (int step = 0; step < 3; ++step) {
    lower.step();
    higher.step();
  }
  lower.expect_equal(higher);
}

}  // namespace
}  // namespace segue
