// Tokens that halt, at both ends: after one pass, and after all of them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/config/depth_kind.h"
#include "core/config/memory_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kMostPasses = 4;
constexpr int64_t kHaltingSegment = 6;

ModelConfig passing_model(DepthKind kind, int64_t passes) {
  ModelConfig model = small_model();
  model.n_layer = passes;
  model.depth = {.kind = kind, .step_codes = true, .halting_epsilon = 0.2};
  return model;
}

struct PassingProblem : ModelProblem {
  explicit PassingProblem(const ModelConfig& config) : ModelProblem(config, 2, 2 * kHaltingSegment) {}

  void upload(const std::string& name, ConstTensorView values) {
    for (size_t i = 0; i < parameters.specs().size(); ++i)
      if (parameters.specs()[i].name == name) parameters.upload(parameters.values(), i, values);
  }
  // No token halts by itself: all by what is the same for all.
  void halt_by(float bias) {
    OwnedTensor w(DType::kFloat32, {1, model.config().d_model}), b(DType::kFloat32, {1});
    b.as<float>()[0] = bias;
    upload("depth.halting.w", w.view());
    upload("depth.halting.bias", b.view());
  }
  void take_weights(ModelProblem& other) {
    for (const ParameterSpec& spec : parameters.specs())
      if (!spec.name.starts_with("depth.")) upload(spec.name, other.parameters[spec.name].value);
    const ConstTensorView codes = other.parameters["depth.step_codes"].value;
    upload("depth.step_codes", codes.rows(0, model.config().n_layer));
  }

  struct Found {
    std::vector<float> nll, passes;
  };
  Found evaluate(Tape::Mode mode = Tape::Mode::kEvaluation) {
    SegmentEngine engine = this->engine(mode);
    const std::unique_ptr<TrainingMemory> memory = make_memory(streams());
    parameters.clear_gradients(queue);
    Found found;
    for (int64_t begin = 0; begin < length(); begin += kHaltingSegment) {
      const OwnedTensor inputs = columns_of(tokens, begin, kHaltingSegment);
      const OwnedTensor outputs = columns_of(targets, begin, kHaltingSegment);
      const TokenLosses losses =
          engine.queue({.tokens = inputs.view(), .targets = outputs.view(), .info = {.loss_scale = 0.1F}}, *memory);
      queue.synchronize();
      const auto append = [](std::vector<float>& to, ConstTensorView from) {
        to.insert(to.end(), from.as<float>(), from.as<float>() + from.elements());
      };
      append(found.nll, losses.nll);
      for (const ConstTensorView& passes : losses.passes) append(found.passes, passes);
    }
    return found;
  }
};

TEST(Halting, AtOnceIsOneLayer) {
  PassingProblem halting(passing_model(DepthKind::kHalting, kMostPasses));
  halting.halt_by(50.0F);
  PassingProblem one(passing_model(DepthKind::kShared, 1));
  one.take_weights(halting);
  const PassingProblem::Found found = halting.evaluate();
  EXPECT_EQ(found.nll, one.evaluate().nll);
  EXPECT_EQ(found.passes, std::vector<float>(found.nll.size(), 1.0F));
}

TEST(Halting, NeverIsAllPasses) {
  PassingProblem halting(passing_model(DepthKind::kHalting, kMostPasses));
  halting.halt_by(-60.0F);
  PassingProblem shared(passing_model(DepthKind::kShared, kMostPasses));
  shared.take_weights(halting);
  const PassingProblem::Found found = halting.evaluate();
  EXPECT_EQ(found.nll, shared.evaluate().nll);
  EXPECT_EQ(found.passes, std::vector<float>(found.nll.size(), static_cast<float>(kMostPasses)));
}

TEST(Halting, TakesThePassesOfTheOracle) {
  PassingProblem halting(passing_model(DepthKind::kHalting, kMostPasses));
  const PassingProblem::Found found = halting.evaluate();
  const auto oracle = halting.oracle<double>();
  const ModelConfig& model = halting.model.config();
  std::vector<int64_t> seen;
  for (int64_t b = 0; b < halting.streams(); ++b) {
    const auto segment = oracle.segment(halting.stream_tokens(b).part(0, kHaltingSegment).tokens,
                                        halting.stream_tokens(b).part(0, kHaltingSegment).targets,
                                        oracle::initial_memory(model), oracle::segment_masks(model));
    for (int64_t t = 0; t < kHaltingSegment; ++t) {
      EXPECT_EQ(found.passes[static_cast<size_t>(b * kHaltingSegment + t)], segment.taken[t]) << b << " " << t;
      seen.push_back(segment.taken[t]);
    }
  }
  EXPECT_LT(std::ranges::min(seen), std::ranges::max(seen));
}

// What tokens halt by learns from the cost of remainders, R = 1 - 2 p of three passes here, as a mean over the tokens
// of a stream; what lies behind the passes does not.
TEST(Halting, PonderingCostsPasses) {
  constexpr double kWeight = 3.0;
  constexpr float kBias = -1.0F;
  const auto gradients = [](double weight) {
    ModelConfig model = passing_model(DepthKind::kHalting, kMostPasses);
    model.depth.ponder_weight = weight;
    PassingProblem problem(model);
    problem.halt_by(kBias);
    const PassingProblem::Found found = problem.evaluate(Tape::Mode::kTraining);
    EXPECT_EQ(found.passes, std::vector<float>(found.nll.size(), 3.0F));
    return std::pair(problem.parameters["depth.halting.bias"].gradient.as<float>()[0],
                     kernels::oracle_values(problem.parameters["head.bias"].gradient));
  };
  const auto [with, head_with] = gradients(kWeight);
  const auto [without, head_without] = gradients(0.0);
  const double p = 1.0 / (1.0 + std::exp(-static_cast<double>(kBias)));
  const double streams = 2.0, segments = 2.0;
  EXPECT_NEAR(with - without, kWeight * streams * segments * -2.0 * p * (1.0 - p), 1e-5);
  EXPECT_EQ(head_with, head_without);
}

// In a step of several segments it is a mean over the tokens of them all.
TEST(Halting, SegmentsOfAStepShareTheCost) {
  constexpr float kBias = -1.0F;
  ModelConfig model = passing_model(DepthKind::kHalting, kMostPasses);
  model.memory.kind = MemoryKind::kInfini;
  PassingProblem problem(model);
  problem.halt_by(kBias);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  problem.parameters.clear_gradients(problem.queue);
  const TokenLosses losses = engine.queue({.tokens = problem.tokens.view(),
                                           .targets = problem.targets.view(),
                                           .info = {.loss_scale = 0.0F},
                                           .segment_length = kHaltingSegment},
                                          *memory);
  problem.queue.synchronize();
  EXPECT_EQ(losses.passes.size(), 2U);
  const double p = 1.0 / (1.0 + std::exp(-static_cast<double>(kBias)));
  EXPECT_NEAR(problem.parameters["depth.halting.bias"].gradient.as<float>()[0],
              model.depth.ponder_weight * static_cast<double>(problem.streams()) * -2.0 * p * (1.0 - p), 1e-7);
}

}  // namespace
}  // namespace segue
