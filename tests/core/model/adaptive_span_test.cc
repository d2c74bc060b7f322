// Learned spans: lengths at which attention is another kind's, and what is saved where they are short.
#include "core/attention/adaptive_span.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "core/engine/learned_span_reader.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

using enum PositionKind;

constexpr PositionKind kKinds[]{kNone, kRope, kAlibi, kT5, kKerple, kLearned, kSinusoidal};

VisibilityConfig adaptive(int64_t span, int64_t ramp) {
  return {.kind = VisibilityKind::kAdaptive, .span = span, .ramp = ramp};
}

ModelConfig model_of(PositionKind position, const VisibilityConfig& visibility, int64_t mem_len = 6) {
  ModelConfig model = small_model();
  model.position = {.kind = position, .rotary_share = position == kRope ? 0.8 : 1.0};
  model.visibility = visibility;
  model.mem_len = mem_len;
  return with_position_rows(model, 512);
}

// Of every head, layer by layer, as shares of the longest.
void set_spans(ModelProblem& problem, const std::vector<float>& shares) {
  auto next = shares.begin();
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const ParameterSpec& spec = problem.parameters.specs()[i];
    if (!spec.bounds) continue;
    OwnedTensor z(DType::kFloat32, spec.shape);
    for (int64_t n = 0; n < spec.shape.elements(); ++n) z.as<float>()[n] = *next++;
    problem.parameters.upload(problem.parameters.values(), i, z.view());
  }
  problem.parameters.refresh_compute_copy();
}

void take_weights(ModelProblem& problem, ModelProblem& source) {
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const std::string& name = problem.parameters.specs()[i].name;
    if (source.parameters.contains(name))
      problem.parameters.upload(problem.parameters.values(), i, source.parameters[name].value);
  }
}

std::vector<float> losses_of(ModelProblem& problem, int64_t tgt_len, EvaluationMemory kept) {
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  std::unique_ptr<Memory> memory = problem.make_memory(problem.streams());
  if (kept == EvaluationMemory::kKvCache) memory = make_frozen_memory(problem.in_use(), problem.streams(), tgt_len);
  std::vector<float> losses;
  for (int64_t begin = 0; begin < problem.length(); begin += tgt_len) {
    const std::vector<float> nll = problem.run(engine, begin, tgt_len, *memory);
    losses.insert(losses.end(), nll.begin(), nll.end());
  }
  return losses;
}

// A model of one visibility, and another whose spans are such shares, with the same weights.
void expect_equal(PositionKind position, const VisibilityConfig& of, const VisibilityConfig& spans, float share) {
  ModelProblem expected(model_of(position, of), 2, 21);
  ModelProblem problem(model_of(position, spans), 2, 21);
  take_weights(problem, expected);
  set_spans(problem, std::vector<float>(6, share));
  for (const EvaluationMemory kept : {EvaluationMemory::kAsTrained, EvaluationMemory::kKvCache})
    EXPECT_EQ(losses_of(problem, 7, kept), losses_of(expected, 7, kept)) << name_of_choice(position);
  set_spans(problem, std::vector<float>(6, 0.0F));
  EXPECT_NE(losses_of(problem, 7, EvaluationMemory::kAsTrained), losses_of(expected, 7, EvaluationMemory::kAsTrained));
}

TEST(AdaptiveSpans, OfAllKeysAreCausalToTheBit) {
  for (const PositionKind position : kKinds) expect_equal(position, {}, adaptive(13, 4), 1.0F);
}

TEST(AdaptiveSpans, OfWholeTokensWithoutARampAreAWindowToTheBit) {
  for (const PositionKind position : kKinds)
    expect_equal(position, {.kind = VisibilityKind::kWindow, .window = 4}, adaptive(12, 1), 0.25F);
}

// Every token has the same context, as long as the memory holds the longest span and its ramp.
TEST(AdaptiveSpans, LossesDoNotDependOnTheSegments) {
  for (const PositionKind position : {kNone, kRope, kAlibi, kT5}) {
    const VisibilityConfig visibility = adaptive(150, 40);
    for (const EvaluationMemory kept : {EvaluationMemory::kAsTrained, EvaluationMemory::kKvCache}) {
      std::vector<std::vector<float>> losses;
      for (const auto& [mem_len, tgt_len] : {std::pair{189, 256}, {189, 1}, {189, 16}, {189, 64}, {120, 16}}) {
        ModelProblem problem(model_of(position, visibility, mem_len), 1, 256);
        set_spans(problem, {1.0F, 0.4F, 0.03F, 0.7F, 0.0F, 1.0F});
        losses.push_back(losses_of(problem, tgt_len, kept));
      }
      for (size_t i = 1; i < losses.size(); ++i) {
        const auto same = testing::Pointwise(testing::FloatNear(2e-5F), losses[0]);
        if (i + 1 < losses.size()) {
          EXPECT_THAT(losses[i], same) << name_of_choice(position) << " " << i;
        } else {
          EXPECT_THAT(losses[i], testing::Not(same)) << name_of_choice(position) << ", a memory too short";
        }
      }
    }
  }
}

struct Trained {
  std::vector<double> losses, gradients;
};

// Three segments on tapes whose operations visit all that the longest span could see.
Trained untrimmed(ModelProblem& problem, int64_t tgt_len) {
  const ModelUse use = use_of(problem.model.config());
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  Trained found;
  problem.parameters.clear_gradients(problem.queue);
  for (int64_t begin = 0; begin < problem.length(); begin += tgt_len) {
    SegmentShape shape{.streams = problem.streams(), .tgt_len = tgt_len};
    memory->fit(shape);
    const auto segment = problem.model.record(problem.arena, Tape::Mode::kTraining, problem.parameters, use, shape);
    problem.arena.reserve(segment->tape.planned_bytes());
    const OwnedTensor tokens = columns_of(problem.tokens, begin, tgt_len);
    const OwnedTensor targets = columns_of(problem.targets, begin, tgt_len);
    segment->tape.bind(segment->tokens, tokens.view());
    segment->tape.bind(segment->targets, targets.view());
    memory->bind(*segment);
    segment->tape.forward(problem.queue);
    segment->tape.backward(problem.queue);
    const std::vector<double> nll = kernels::oracle_values(segment->tape.read(segment->nll));
    found.losses.insert(found.losses.end(), nll.begin(), nll.end());
    memory->update(problem.queue, *segment);
  }
  found.gradients = kernels::oracle_values(problem.parameters.gradients());
  return found;
}

Trained trimmed(ModelProblem& problem, int64_t tgt_len) {
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  Trained found;
  problem.parameters.clear_gradients(problem.queue);
  for (int64_t begin = 0; begin < problem.length(); begin += tgt_len) {
    const std::vector<float> nll = problem.run(engine, begin, tgt_len, *memory);
    found.losses.insert(found.losses.end(), nll.begin(), nll.end());
  }
  found.gradients = kernels::oracle_values(problem.parameters.gradients());
  return found;
}

// Spans of other lengths in every head, of one length in all, and such as move between segments of one engine's tapes.
TEST(AdaptiveSpans, WhatIsNotVisitedWeighsNothing) {
  for (const PositionKind position : {kNone, kAlibi}) {
    ModelProblem problem(model_of(position, adaptive(200, 17), 216), 2, 390);
    for (const std::vector<float>& shares : {std::vector<float>{0.0F, 0.31F, 0.9F, 0.5F, 0.2F, 0.21F},
                                             {0.0F, 0.0F, 0.0F, 0.4F, 0.4F, 0.4F},
                                             {1.0F, 1.0F, 1.0F, 1.0F, 0.0F, 1.0F}}) {
      set_spans(problem, shares);
      const Trained expected = untrimmed(problem, 130), found = trimmed(problem, 130);
      kernels::expect_close("losses", found.losses, expected.losses, kernels::kElementwise);
      kernels::expect_close("gradients", found.gradients, expected.gradients, kernels::kNetworkGradient);
    }
  }
}

TEST(AdaptiveSpans, AnEngineFollowsThem) {
  ModelProblem problem(model_of(kRope, adaptive(200, 17), 216), 1, 390);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const auto losses = [&problem](SegmentEngine& by) {
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
    problem.run(by, 0, 130, *memory);
    problem.run(by, 130, 130, *memory);
    return problem.run(by, 260, 130, *memory);
  };
  for (const float share : {0.1F, 0.9F, 0.3F}) {
    set_spans(problem, {share, 0.5F * share, 0.0F, share, share, share});
    SegmentEngine fresh = problem.engine(Tape::Mode::kEvaluation);
    EXPECT_EQ(losses(engine), losses(fresh)) << share;
  }
}

TEST(AdaptiveSpans, WindowsAreWholeTiles) {
  ModelConfig model = model_of(kNone, {}, 216);
  model.layers = {{.only = {1}, .visibility = adaptive(200, 17)}};
  ModelProblem problem(model, 1, 7);
  set_spans(problem, {0.0F, 47.0F / 200.0F, 1.0F});
  std::vector<int64_t> windows;
  LearnedSpanReader(model, problem.parameters).read(problem.queue, windows);
  EXPECT_EQ(windows, (std::vector<int64_t>{0, 0, 0, 64, 64, 256}));
  const AdaptiveSpan span(model, 1);
  EXPECT_EQ(span.keys_seen(0.0F), 17);
  EXPECT_EQ(span.keys_seen(0.5F / 200.0F), 18);
  EXPECT_EQ(span.keys_seen(1.0F), 217);
  EXPECT_EQ(span.keys_seen(1.5F), 217);  // as before the first update has brought it back
}

// Operations are counted by the spans of today: without ramps as of windows.
TEST(AdaptiveSpans, OperationsAreThoseOfWhatIsSeen) {
  const SegmentShape shape{.streams = 1, .tgt_len = 64, .memory_rows = 60};
  const auto flops = [&](const VisibilityConfig& visibility, float share) {
    ModelProblem problem(model_of(kNone, visibility, 60), 1, 7);
    set_spans(problem, std::vector<float>(6, share));
    return problem.model.flops(problem.parameters, use_of(problem.model.config()), shape).forward;
  };
  EXPECT_EQ(flops(adaptive(60, 1), 0.25F), flops({.kind = VisibilityKind::kWindow, .window = 16}, 0.0F));
  EXPECT_LT(flops(adaptive(60, 1), 0.25F), flops(adaptive(60, 1), 0.5F));
}

TEST(AdaptiveSpans, AreToldInTokensWithTheirPenalty) {
  ModelConfig model = model_of(kNone, {}, 216);
  model.layers = {{.only = {1}, .visibility = adaptive(200, 17)}};
  model.layers[0].visibility->penalty = 0.01;
  ModelProblem problem(model, 1, 7);
  set_spans(problem, {0.0F, 0.25F, 1.0F});
  const std::optional<LearnedSpans> spans = learned_spans(model, problem.parameters);
  ASSERT_TRUE(spans.has_value());
  EXPECT_EQ(spans->layers, (std::vector<std::vector<double>>{{}, {0.0, 50.0, 200.0}}));
  EXPECT_NEAR(spans->penalty, 0.01 * 250.0 / 3.0, 1e-9);
  EXPECT_FALSE(learned_spans(small_model(), problem.parameters).has_value());
}

}  // namespace
}  // namespace segue
