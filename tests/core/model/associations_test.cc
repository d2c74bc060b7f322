// Properties of the associative memory. memory_tokens_test and the tests of all kinds check its formulas.
#include <gtest/gtest.h>

#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kSegment = 4;

ModelConfig associative_alone() { return model_variant("memory_associative_alone_pre_norm").config(); }

bool ends_with(const ParameterSpec& spec, std::string_view end) { return spec.name.ends_with(end); }

void clear(ModelProblem& problem, std::string_view end) {
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const ParameterSpec& spec = problem.parameters.specs()[i];
    if (!ends_with(spec, end)) continue;
    const OwnedTensor zeros(DType::kFloat32, spec.shape);
    problem.parameters.upload(problem.parameters.values(), i, zeros.view());
  }
  problem.parameters.refresh_compute_copy();
}

// Losses of the second segment, after the first or without it.
std::vector<float> second_segment(ModelProblem& problem, bool after_first) {
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  if (after_first) problem.run(engine, 0, kSegment, *memory);
  return problem.run(engine, kSegment, kSegment, *memory);
}

// The associations of the first layer.
OwnedTensor first_layers(const TrainingMemory& memory) {
  for (const NamedTensor& tensor : memory.state())
    if (tensor.name == "associations.0") return host_copy(tensor.tensor, {});
  throw ContractError("no associations");
}

// As a model begins: nothing is written until that has been learned.
TEST(Associations, SegmentsAreIndependentWhereValuesAreZero) {
  ModelProblem problem(associative_alone(), 2, 2 * kSegment);
  EXPECT_NE(second_segment(problem, true), second_segment(problem, false));
  clear(problem, "associations.v");
  EXPECT_EQ(second_segment(problem, true), second_segment(problem, false));
  for (const ParameterSpec& spec : problem.parameters.specs())
    EXPECT_EQ(ends_with(spec, "associations.v"), spec.initializer == Initializer::kZero && spec.shape.rank() == 2)
        << spec.name;
}

// Of a strength of 1, the delta rule leaves alone what already stands under a key.
TEST(Associations, WhatIsWrittenTwiceIsAsWrittenOnce) {
  ModelConfig config = associative_alone();
  config.memory.tokens = 1;  // of two, the second takes away some of what the first wrote
  ModelProblem problem(config, 2, 3 * kSegment);
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const ParameterSpec& spec = problem.parameters.specs()[i];
    if (!ends_with(spec, "associations.strength_bias")) continue;
    OwnedTensor large(DType::kFloat32, spec.shape);
    std::fill_n(large.as<float>(), spec.shape.elements(), 60.0F);
    problem.parameters.upload(problem.parameters.values(), i, large.view());
  }
  problem.parameters.refresh_compute_copy();
  // The first layer's memory tokens, whose input is learned, of two equal segments that nothing precedes.
  std::copy_n(problem.tokens.as<int32_t>(), kSegment, problem.tokens.as<int32_t>() + kSegment);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  clear(problem, "associations.output");  // what is read changes nothing
  problem.run(engine, 0, kSegment, *memory);
  const OwnedTensor once = first_layers(*memory);
  problem.run(engine, kSegment, kSegment, *memory);
  const OwnedTensor twice = first_layers(*memory);
  EXPECT_GT(kernels::largest(kernels::oracle_values(once.view())), 0.1);
  const int64_t of_stream = once.shape().elements() / 2;  // of stream 0, whose segments are equal
  for (int64_t e = 0; e < of_stream; ++e) EXPECT_NEAR(once.as<float>()[e], twice.as<float>()[e], 1e-5) << e;
}

}  // namespace
}  // namespace segue
