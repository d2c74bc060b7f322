// Windows and patterns in a model: where segments begin need not matter, and patterns of all keys change nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

// The losses of one stream of 512 tokens, cut into segments of `tgt_len`.
std::vector<float> losses_of_segments(const ModelConfig& config, int64_t tgt_len, EvaluationMemory kept) {
  constexpr int64_t kLength = 512;
  ModelProblem problem(config, 1, kLength);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  std::unique_ptr<Memory> memory = problem.make_memory(1);
  if (kept == EvaluationMemory::kKvCache) memory = make_frozen_memory(problem.in_use(), 1, tgt_len);
  std::vector<float> losses;
  for (int64_t begin = 0; begin < kLength; begin += tgt_len) {
    const std::vector<float> nll = problem.run(engine, begin, tgt_len, *memory);
    losses.insert(losses.end(), nll.begin(), nll.end());
  }
  return losses;
}

// Every token has the same context, so that it does not matter where segments begin; as long as the memory suffices.
TEST(Transformer, LossesOfAWindowDoNotDependOnTheSegments) {
  ModelConfig config = small_model();
  config.n_layer = 3;
  config.visibility = {.kind = VisibilityKind::kWindow, .window = 24};
  for (const PositionKind kind : {PositionKind::kRope, PositionKind::kRelative, PositionKind::kAlibi}) {
    config.position = {.kind = kind, .rotary_share = 0.8};
    for (const EvaluationMemory kept : {EvaluationMemory::kAsTrained, EvaluationMemory::kKvCache}) {
      config.mem_len = 23;
      const std::vector<float> whole = losses_of_segments(config, 512, kept);
      for (const int64_t tgt_len : {1, 16, 64})
        EXPECT_THAT(losses_of_segments(config, tgt_len, kept), testing::Pointwise(testing::FloatNear(2e-5F), whole))
            << name_of_choice(kind) << ", segments of " << tgt_len;
      config.mem_len = 22;
      EXPECT_THAT(losses_of_segments(config, 16, kept),
                  testing::Not(testing::Pointwise(testing::FloatNear(1e-3F), whole)))
          << name_of_choice(kind) << ", a row short";
    }
  }
}

TEST(Transformer, LossesOfPatternsThatEndDoNotDependOnTheSegments) {
  using enum PatternKind;
  ModelConfig config = small_model();
  config.n_layer = 3;
  config.mem_len = 23;
  const auto expect_same_losses = [&](EvaluationMemory kept, std::initializer_list<int64_t> lengths) {
    const std::vector<float> whole = losses_of_segments(config, 512, kept);
    for (const int64_t tgt_len : lengths)
      EXPECT_THAT(losses_of_segments(config, tgt_len, kept), testing::Pointwise(testing::FloatNear(2e-5F), whole))
          << "segments of " << tgt_len;
  };
  // As of Longformer: windows that grow, dilated ones above.
  config.visibility = sparse({{.window = 8}});
  config.layers = {{.only = {1}, .visibility = sparse({{.window = 24}})},
                   {.only = {2},
                    .visibility = sparse({{.heads = {0}, .window = 24},
                                          {.kind = kDilated, .heads = {1, 2}, .window = 8, .stride = 3}})}};
  for (const EvaluationMemory kept : {EvaluationMemory::kAsTrained, EvaluationMemory::kKvCache})
    expect_same_losses(kept, {1, 16, 64});
  config.layers.clear();
  config.visibility = sparse({{.kind = kBlocks, .block = 8, .before = 8},
                              {.kind = kRandom, .block = 8, .period = 16, .count = 1, .nearest = 1, .farthest = 2},
                              {.kind = kBlockwise, .heads = {0}, .block = 4, .shift = 4}});
  expect_same_losses(EvaluationMemory::kAsTrained, {16, 64});
  expect_same_losses(EvaluationMemory::kKvCache, {1, 16, 64});  // token by token the cache knows positions
}

TEST(Transformer, PatternsOfAllKeysAreCausalToTheBit) {
  using enum PatternKind;
  ModelConfig config = small_model();
  const auto losses = [&config](const VisibilityConfig& visibility, int64_t mem_len) {
    config.visibility = visibility;
    config.mem_len = mem_len;
    return losses_of_segments(config, 64, EvaluationMemory::kAsTrained);
  };
  for (const int64_t mem_len : {0, 64}) {
    const std::vector<float> causal = losses({}, mem_len);
    EXPECT_EQ(losses(sparse({{.window = 128}}), mem_len), causal);
    EXPECT_EQ(losses(sparse({{.kind = kStrided, .stride = 1}}), mem_len), causal);
    EXPECT_EQ(losses(sparse({{.kind = kBlocks, .block = 64, .before = 64}}), mem_len), causal);
    EXPECT_EQ(losses(sparse({{.kind = kFixed, .period = 16, .from = 0, .columns = 16}}), mem_len), causal);
    EXPECT_EQ(losses(sparse({{.kind = kGlobal, .period = 16, .columns = 16}}), mem_len), causal);
    EXPECT_EQ(
        losses(sparse({{.kind = kBlockwise, .block = 64, .shift = 0}, {.kind = kBlockwise, .block = 64, .shift = 1}}),
               mem_len),
        causal);
    EXPECT_EQ(losses(sparse({{.kind = kBlocks, .block = 16, .before = 0},
                             {.kind = kRandom, .block = 16, .period = 64, .count = 7, .nearest = 1, .farthest = 7}}),
                     mem_len),
              causal);
  }
  EXPECT_EQ(losses(sparse({{.kind = kBlockwise, .block = 64, .shift = 0}}), 0), losses({}, 0));
  EXPECT_NE(losses(sparse({{.kind = kBlockwise, .block = 32, .shift = 0}}), 0), losses({}, 0));
}

// What a step of training that sees a share of windows makes of two segments: losses, gradients and FLOPs.
struct TrainedWindows {
  std::vector<float> values;
  double flops = 0.0;
};
TrainedWindows train_windows(const ModelConfig& config, double window_share) {
  constexpr int64_t kTgtLen = 64;
  ModelProblem problem(config, 2, 2 * kTgtLen);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  problem.parameters.clear_gradients(problem.queue);
  TrainedWindows trained;
  for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen) {
    const OwnedTensor tokens = columns_of(problem.tokens, begin, kTgtLen);
    const OwnedTensor targets = columns_of(problem.targets, begin, kTgtLen);
    const auto nll =
        engine
            .run({.tokens = tokens.view(), .targets = targets.view(), .info = {}, .window_share = window_share},
                 *memory)
            .nll;
    trained.values.insert(trained.values.end(), nll.begin(), nll.end());
  }
  const ConstTensorView gradients = problem.parameters.gradients();
  trained.values.insert(trained.values.end(), gradients.as<float>(), gradients.as<float>() + gradients.elements());
  SegmentShape shape = full_segment(config, use_of(config), 2, kTgtLen, kTgtLen);
  shape.window_share = window_share;
  const Flops flops = problem.model.flops(problem.parameters, use_of(config), shape);
  trained.flops = flops.forward + flops.backward;
  return trained;
}

// In layers of windows and of patterns, and where queries look ahead.
TEST(Transformer, AShareOfWindowsIsTheModelOfSmallerWindowsToTheBit) {
  using enum PatternKind;
  ModelConfig windows = small_model();
  windows.n_layer = 3;
  windows.mem_len = 80;
  windows.visibility = {.kind = VisibilityKind::kWindow, .window = 80};
  windows.layers = {{.only = {1},
                     .visibility = sparse({{.heads = {0}, .window = 70},
                                           {.kind = kDilated, .heads = {1, 2}, .window = 24, .stride = 3}})},
                    {.only = {2}, .visibility = sparse({{.window = 33}, {.kind = kStrided, .stride = 8}})}};
  ModelConfig masked = windows;
  masked.visibility = sparse({{.window = 40}});
  mask(masked, masked.visibility);
  for (const ModelConfig& config : {windows, masked}) {
    const TrainedWindows share = train_windows(config, 0.25);
    const TrainedWindows small = train_windows(narrowed(config, 0.25), 1.0);
    const TrainedWindows whole = train_windows(config, 1.0);
    EXPECT_EQ(share.values, small.values);
    EXPECT_NE(share.values, whole.values);
    EXPECT_EQ(share.flops, small.flops);
    EXPECT_LT(share.flops, whole.flops);
  }
}

}  // namespace
}  // namespace segue
