// Properties of Infini-attention. memory_tokens_test and the tests of all kinds check its formulas.
#include <gtest/gtest.h>

#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kInfiniSegment = 4;
constexpr int64_t kInfiniStreams = 2;

struct InfiniProblem : ModelProblem {
  InfiniProblem()
      : ModelProblem(model_variant("memory_infini_alone_pre_norm_rope").config(), kInfiniStreams, 2 * kInfiniSegment) {}

  void set_gates(float logit) {
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      const ParameterSpec& spec = parameters.specs()[i];
      if (!spec.name.ends_with("infini.gate")) continue;
      OwnedTensor gates(DType::kFloat32, spec.shape);
      std::fill_n(gates.as<float>(), spec.shape.elements(), logit);
      parameters.upload(parameters.values(), i, gates.view());
    }
    parameters.refresh_compute_copy();
  }

  // Losses of the second segment, after the first or without it.
  std::vector<float> second_segment(bool after_first) {
    SegmentEngine engine = this->engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> memory = make_memory(kInfiniStreams);
    if (after_first) run(engine, 0, kInfiniSegment, *memory);
    return run(engine, kInfiniSegment, kInfiniSegment, *memory);
  }
};

TEST(InfiniMemory, SegmentsAreIndependentWhereGatesAreLocal) {
  InfiniProblem problem;
  EXPECT_NE(problem.second_segment(true), problem.second_segment(false));
  problem.set_gates(-120.0F);  // of which the share is 0 in single precision
  EXPECT_EQ(problem.second_segment(true), problem.second_segment(false));
  for (const ParameterSpec& spec : problem.parameters.specs()) {
    if (spec.name.ends_with("infini.gate")) {
      EXPECT_EQ(spec.initializer, Initializer::kZero) << spec.name;
    }
  }
}

// Equal segments that know nothing of each other sum to twice one of them.
TEST(InfiniMemory, StatesAreSumsOfSegments) {
  InfiniProblem problem;
  problem.set_gates(-120.0F);
  for (int64_t b = 0; b < kInfiniStreams; ++b) {
    int32_t* tokens = problem.tokens.as<int32_t>() + b * 2 * kInfiniSegment;
    std::copy_n(tokens, kInfiniSegment, tokens + kInfiniSegment);
  }
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kInfiniStreams);
  const auto states = [&memory] {
    std::vector<double> values;
    for (const NamedTensor& tensor : memory->state()) {
      if (!tensor.name.starts_with("infini.")) continue;
      const std::vector<double> more = kernels::oracle_values(host_copy(tensor.tensor, {}).view());
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  };
  problem.run(engine, 0, kInfiniSegment, *memory);
  const std::vector<double> once = states();
  problem.run(engine, kInfiniSegment, kInfiniSegment, *memory);
  const std::vector<double> twice = states();
  ASSERT_FALSE(once.empty());
  ASSERT_EQ(once.size(), twice.size());
  for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2.0 * once[i], 1e-5) << i;
}

}  // namespace
}  // namespace segue
