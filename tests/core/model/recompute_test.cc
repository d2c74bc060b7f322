// What backward computes again: every gradient, loss and memory stays the same to the bit, in less memory.
#include <gtest/gtest.h>

#include "core/config/kind_requirements.h"
#include "tests/core/model/model_problem.h"
#include "tests/kernels/bfloat16.h"

namespace segue {
namespace {

constexpr int64_t kTokensOfASegment = 6;
constexpr int64_t kTwoSteps = 2;

struct TrainedSteps {
  std::vector<float> nll;
  std::vector<OwnedTensor> memory;
  OwnedTensor gradients;
};

// Two steps of so many segments, the second of which remembers the first.
TrainedSteps train_steps(const ModelConfig& config, int64_t segments, Recompute recompute, const Compute& compute) {
  const int64_t count = segments * kTokensOfASegment;
  ModelProblem problem(config, 2, kTwoSteps * count, compute);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams(), compute);
  problem.parameters.clear_gradients(problem.queue);
  TrainedSteps trained;
  for (int64_t step = 0; step < kTwoSteps; ++step) {
    const OwnedTensor inputs = columns_of(problem.tokens, step * count, count);
    const OwnedTensor targets = columns_of(problem.targets, step * count, count);
    const auto nll = engine
                         .run({.tokens = inputs.view(),
                               .targets = targets.view(),
                               .info = {.seed = 3, .step = static_cast<uint64_t>(step), .loss_scale = 0.1F},
                               .segment_length = segments == 1 ? 0 : kTokensOfASegment,
                               .recompute = recompute},
                              *memory)
                         .nll;
    trained.nll.insert(trained.nll.end(), nll.begin(), nll.end());
  }
  for (const NamedTensor& state : memory->state()) trained.memory.push_back(host_copy(state.tensor, {}));
  trained.gradients = host_copy(problem.parameters.gradients(), {});
  return trained;
}

void expect_the_same_steps(ModelConfig config, int64_t segments, const Compute& compute = {}) {
  config.dropout = 0.25;
  config.dropatt = 0.2;
  const TrainedSteps expected = train_steps(config, segments, Recompute::kNone, compute);
  for (const Recompute recompute : {Recompute::kAttention, Recompute::kBlock}) {
    SCOPED_TRACE(name_of_choice(recompute));
    const TrainedSteps found = train_steps(config, segments, recompute, compute);
    EXPECT_EQ(found.nll, expected.nll);
    kernels::expect_identical("gradients", found.gradients.view(), expected.gradients.view());
    ASSERT_EQ(found.memory.size(), expected.memory.size());
    for (size_t i = 0; i < found.memory.size(); ++i)
      kernels::expect_identical("memory", found.memory[i].view(), expected.memory[i].view());
  }
}

// Reversible layers have nothing to spare.
std::vector<ModelVariant> variants_that_recompute() {
  std::vector<ModelVariant> variants = model_variants();
  std::erase_if(variants, [](const ModelVariant& variant) { return !allows_recompute(variant.config()); });
  return variants;
}

class RecomputedModels : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, RecomputedModels, testing::ValuesIn(variants_that_recompute()), name_of_variant);

TEST_P(RecomputedModels, LearnTheSame) { expect_the_same_steps(GetParam().config(), 1); }

using RecomputedInBFloat16 = kernels::WithBFloat16Products<testing::Test>;

TEST_F(RecomputedInBFloat16, LearnTheSame) {
  for (const char* name : {"pre_norm", "memory_block_recurrent", "block_gated_gru"})
    expect_the_same_steps(model_variant(name).config(), 1, {.activations = DType::kBFloat16});
}

// Models whose segments of a step learn through one another.
std::vector<ModelVariant> variants_of_several_segments() {
  std::vector<ModelVariant> variants = variants_that_recompute();
  std::erase_if(variants, [](const ModelVariant& variant) {
    return std::ranges::none_of(kinds_in_use(variant.config()),
                                [](const KindInUse& kind) { return kind.needs.hands_on_gradients; });
  });
  return variants;
}

class RecomputedSteps : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, RecomputedSteps, testing::ValuesIn(variants_of_several_segments()), name_of_variant);

TEST_P(RecomputedSteps, OfSeveralSegmentsLearnTheSame) { expect_the_same_steps(GetParam().config(), 3); }

// Of a model, and an encoder of its memory if it has one, of `layers` layers.
int64_t planned_bytes_of(ModelConfig config, int64_t layers, Recompute recompute) {
  config.n_layer = config.memory.encoder_layers = layers;
  const Transformer model(config, ModelProblem::kVocabulary);
  Parameters parameters(model.parameter_specs());
  Arena arena;
  SegmentShape shape = full_segment(config, use_of(config), 2, 32, 0);
  shape.recompute = recompute;
  return model.record(arena, Tape::Mode::kTraining, parameters, use_of(config), shape)->tape.planned_bytes();
}

// Each further layer takes less room, of the model and of what encodes its memory.
TEST(Recompute, KeepsAFractionOfALayer) {
  for (const char* name : {"post_norm", "pre_norm", "memory_encoder"}) {
    SCOPED_TRACE(name);
    const auto of_a_layer = [&](Recompute recompute) {
      const ModelConfig config = model_variant(name).config();
      return static_cast<double>(planned_bytes_of(config, 24, recompute) - planned_bytes_of(config, 12, recompute)) /
             12.0;
    };
    const double kept = of_a_layer(Recompute::kNone);
    EXPECT_LT(of_a_layer(Recompute::kAttention), 0.6 * kept);
    // Before a layer norm the sum of a layer and its last branch are kept apart.
    EXPECT_LT(of_a_layer(Recompute::kBlock), (model_variant(name).config().block.pre_lnorm ? 0.3 : 0.15) * kept);
  }
}

}  // namespace
}  // namespace segue
