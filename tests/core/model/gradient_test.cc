// Gradients of the whole model: every entry of every parameter against complex-step derivatives of the oracle.
//
// The loss is the mean over a later segment. The memory before it is held constant, but its keys and values are made
// with today's weights: their gradient belongs to those weights.
#include <gtest/gtest.h>

#include "core/config/head_kind.h"
#include "core/config/position_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kTgtLen = 4;
constexpr int64_t kBefore = 2 * kTgtLen;  // tokens of the segments before

// Of rope, which turns a share of its heads.
bool turns_heads(const ModelConfig& config) {
  return std::ranges::any_of(oracle::layers_of(config),
                             [](const ModelConfig& layer) { return layer.position.kind == PositionKind::kRope; });
}

ModelConfig tiny(const ModelVariant& variant) {
  ModelConfig config = variant.config();
  if (!oracle::halts(config)) config.n_layer = std::min<int64_t>(config.n_layer, 2);
  // What gains learn is a number a head, and a tensor is compared by its largest: two may both be nearly 0.
  config.n_head = std::min<int64_t>(config.n_head, offered_by(config.position.kind).gains ? 4 : 2);
  if (!turns_heads(config)) config.d_head = std::min<int64_t>(config.d_head, 3);
  config.d_model = std::min<int64_t>(config.d_model, 8);
  config.d_inner = std::min<int64_t>(config.d_inner, 7);
  config.d_embed = config.d_embed == 0 ? 0 : (config.d_embed < 14 ? 5 : 9);
  return config;
}

// Loss of the last segment's newest `scored` tokens, but of those whose target is -1, over the number of all of them in
// all streams, as a function of the weights.
class SegmentLoss {
 public:
  SegmentLoss(ModelProblem& problem, const std::vector<std::optional<oracle::StreamRandom>>& random,
              int64_t scored = kTgtLen)
      : config_(problem.model.config()), scored_(scored) {
    for (int64_t b = 0; b < problem.streams(); ++b) {
      oracle::StreamTokens tokens = problem.stream_tokens(b);
      std::vector<bool> has_target;
      for (int32_t& target : tokens.targets) {
        has_target.push_back(target >= 0);
        target = std::max(target, 0);
      }
      oracle::Memory memory = oracle::initial_memory(config_);
      oracle::segmented_nll(config_, problem.oracle<double>(), tokens.part(0, kBefore), kTgtLen, memory);
      streams_.push_back({problem.oracle<std::complex<double>>(random[b]),
                          tokens.part(kBefore, kTgtLen),
                          {has_target.end() - kTgtLen, has_target.end()},
                          std::move(memory)});
    }
  }

  std::vector<double> gradient(const std::string& name) {
    const kernels::ComplexVector& values = streams_[0].oracle.weight(name);
    std::vector<double> point;
    for (const std::complex<double>& value : values) point.push_back(value.real());
    const std::vector<double> gradient =
        kernels::complex_step_gradient(point, [&](const kernels::ComplexVector& at) { return mean_loss_at(name, at); });
    mean_loss_at(name, kernels::ComplexVector(point.begin(), point.end()));  // back to where it was
    return gradient;
  }

 private:
  struct OneStream {
    oracle::TransformerXl<std::complex<double>> oracle;
    oracle::StreamTokens tokens;
    std::vector<bool> has_target;
    oracle::Memory memory;
  };

  // With the loss of reconstruction of each stream, if there is one, and its ponder cost.
  std::complex<double> mean_loss_at(const std::string& name, const kernels::ComplexVector& values) {
    std::complex<double> total = 0.0, reconstruction = 0.0, ponder = 0.0;
    for (OneStream& each : streams_) {
      each.oracle.weight(name) = values;
      const auto segment = each.oracle.segment(each.tokens.tokens, each.tokens.targets, each.memory, masks_);
      for (auto t = static_cast<size_t>(kTgtLen - scored_); t < segment.nll.size(); ++t)
        if (each.has_target[t]) total += segment.nll[t];
      reconstruction += oracle::reconstruction_loss(config_, each.oracle, segment, each.memory);
      ponder += segment.ponder;
    }
    return total / static_cast<double>(std::ssize(streams_) * scored_) +
           config_.memory.reconstruction_weight * reconstruction + config_.depth.ponder_weight * ponder;
  }

  ModelConfig config_;
  std::vector<oracle::Visibility> masks_ = oracle::segment_masks(config_);
  int64_t scored_;
  std::vector<OneStream> streams_;
};

void expect_gradients(ModelProblem& problem, SegmentLoss& loss) {
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const ParameterSpec& spec = problem.parameters.specs()[i];
    const ConstTensorView found = problem.parameters.part_of(problem.parameters.gradients(), i);
    const std::vector<double> expected =
        spec.is_learned() ? loss.gradient(spec.name) : std::vector<double>(spec.shape.elements());
    kernels::expect_close(spec.name, found, expected, gradient_tolerance(problem.model.config()));
  }
}

// The gradients of the third segment, whose memory comes from evaluating the two before.
void run_backward(ModelProblem& problem, const ReplayInfo& info, int64_t scored = kTgtLen) {
  SegmentEngine before = problem.engine(Tape::Mode::kEvaluation);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  for (int64_t begin = 0; begin < kBefore; begin += kTgtLen) problem.run(before, begin, kTgtLen, *memory);
  problem.parameters.clear_gradients(problem.queue);
  problem.run(engine, kBefore, kTgtLen, *memory, info, scored);
}

class ModelGradients : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, ModelGradients, testing::ValuesIn(model_variants()), name_of_variant);

// Of all tokens with dropout; without it, of some, below: what is scored and what is dropped do not meet.
TEST_P(ModelGradients, EqualComplexStepWithDropout) {
  ModelConfig config = tiny(GetParam());
  config.dropout = 0.25;
  config.dropatt = 0.2;
  ModelProblem problem(config, 2, kBefore + kTgtLen);
  run_backward(problem, {.seed = 3, .step = 8, .first_stream = 4, .loss_scale = 1.0F / (2.0F * kTgtLen)});
  SegmentLoss loss(problem, {oracle::StreamRandom{3, 8, 4}, oracle::StreamRandom{3, 8, 5}});
  expect_gradients(problem, loss);
}

TEST_P(ModelGradients, EqualComplexStepWhenTheNewestAreScored) {
  constexpr int64_t kScored = kTgtLen / 2;
  ModelProblem problem(tiny(GetParam()), 2, kBefore + kTgtLen);
  run_backward(problem, {.loss_scale = 1.0F / (2.0F * kScored)}, kScored);
  SegmentLoss loss(problem, {std::nullopt, std::nullopt}, kScored);
  expect_gradients(problem, loss);
}

std::vector<ModelVariant> head_variants() {
  std::vector<ModelVariant> variants = key_variants();
  std::erase_if(variants, [](const ModelVariant& variant) { return variant.config().head.kind == HeadKind::kSoftmax; });
  variants.push_back({"softmax", [](ModelConfig&) {}});
  variants.push_back({"adaptive_of_one_cluster", [](ModelConfig& m) { m.head.kind = HeadKind::kAdaptive; }});
  return variants;
}

class ModelGradientsOfSomeTargets : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, ModelGradientsOfSomeTargets, testing::ValuesIn(head_variants()), name_of_variant);

TEST_P(ModelGradientsOfSomeTargets, EqualComplexStep) {
  ModelProblem problem(tiny(GetParam()), 2, kBefore + kTgtLen);
  for (const int64_t i : {0, 2, 3, 5}) problem.targets.as<int32_t>()[i / 4 * problem.length() + kBefore + i % 4] = -1;
  run_backward(problem, {.loss_scale = 1.0F / (2.0F * kTgtLen)});
  SegmentLoss loss(problem, {std::nullopt, std::nullopt});
  expect_gradients(problem, loss);
}

TEST_P(ModelGradientsOfSomeTargets, WithoutATargetAreZero) {
  ModelProblem problem(tiny(GetParam()), 2, kBefore + kTgtLen);
  std::fill_n(problem.targets.as<int32_t>(), problem.targets.shape().elements(), -1);
  run_backward(problem, {});
  EXPECT_EQ(kernels::largest(kernels::oracle_values(problem.parameters.gradients())), 0.0);
}

// Gradients are added to what is there, which is how columns of a batch accumulate.
TEST(ModelGradientsSum, AddToWhatIsThere) {
  ModelProblem problem(small_model(), 2, kBefore + kTgtLen);
  run_backward(problem, {});
  const std::vector<double> once = kernels::oracle_values(problem.parameters.gradients());
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
    SegmentEngine before = problem.engine(Tape::Mode::kEvaluation);
    for (int64_t begin = 0; begin < kBefore; begin += kTgtLen) problem.run(before, begin, kTgtLen, *memory);
    problem.run(engine, kBefore, kTgtLen, *memory);
  }
  std::vector<double> expected = once;
  for (double& gradient : expected) gradient *= 3.0;
  kernels::expect_close("three times", problem.parameters.gradients(), expected, kernels::kElementwise);
}

}  // namespace
}  // namespace segue
