// What backward computes again: every gradient, loss and memory stays the same to the bit, in less memory.
#include <gtest/gtest.h>

#include "core/config/kind_requirements.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kTgtLen = 6;
constexpr int64_t kSteps = 2;

struct Trained {
  std::vector<float> nll;
  std::vector<OwnedTensor> memory;
  OwnedTensor gradients;
};

// Two steps of so many segments, the second of which remembers the first.
Trained train(const ModelConfig& config, int64_t segments, Recompute recompute) {
  const int64_t count = segments * kTgtLen;
  ModelProblem problem(config, 2, kSteps * count);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  problem.parameters.clear_gradients(problem.queue);
  Trained trained;
  for (int64_t step = 0; step < kSteps; ++step) {
    const OwnedTensor inputs = columns_of(problem.tokens, step * count, count);
    const OwnedTensor targets = columns_of(problem.targets, step * count, count);
    const auto nll = engine
                         .run({.tokens = inputs.view(),
                               .targets = targets.view(),
                               .info = {.seed = 3, .step = static_cast<uint64_t>(step), .loss_scale = 0.1F},
                               .segment_length = segments == 1 ? 0 : kTgtLen,
                               .recompute = recompute},
                              *memory)
                         .nll;
    trained.nll.insert(trained.nll.end(), nll.begin(), nll.end());
  }
  for (const NamedTensor& state : memory->state()) trained.memory.push_back(host_copy(state.tensor, {}));
  trained.gradients = host_copy(problem.parameters.gradients(), {});
  return trained;
}

void expect_same(ModelConfig config, int64_t segments) {
  config.dropout = 0.25;
  config.dropatt = 0.2;
  const Trained expected = train(config, segments, Recompute::kNone);
  for (const Recompute recompute : {Recompute::kAttention, Recompute::kBlock}) {
    SCOPED_TRACE(name_of_choice(recompute));
    const Trained found = train(config, segments, recompute);
    EXPECT_EQ(found.nll, expected.nll);
    kernels::expect_identical("gradients", found.gradients.view(), expected.gradients.view());
    ASSERT_EQ(found.memory.size(), expected.memory.size());
    for (size_t i = 0; i < found.memory.size(); ++i)
      kernels::expect_identical("memory", found.memory[i].view(), expected.memory[i].view());
  }
}

class RecomputedModels : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, RecomputedModels, testing::ValuesIn(model_variants()), name_of_variant);

TEST_P(RecomputedModels, LearnTheSame) { expect_same(GetParam().config(), 1); }

// Models whose segments of a step learn through one another.
std::vector<ModelVariant> variants_of_several_segments() {
  std::vector<ModelVariant> variants = model_variants();
  std::erase_if(variants, [](const ModelVariant& variant) {
    return std::ranges::none_of(kinds_in_use(variant.config()),
                                [](const KindInUse& kind) { return kind.needs.hands_on_gradients; });
  });
  return variants;
}

class RecomputedSteps : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, RecomputedSteps, testing::ValuesIn(variants_of_several_segments()), name_of_variant);

TEST_P(RecomputedSteps, OfSeveralSegmentsLearnTheSame) { expect_same(GetParam().config(), 3); }

// Of a model of `layers` layers.
int64_t activation_bytes(int64_t layers, Recompute recompute) {
  ModelConfig config = small_model();
  config.n_layer = layers;
  const Transformer model(config, ModelProblem::kVocabulary);
  Parameters parameters(model.parameter_specs());
  Arena arena;
  const ModelUse use{.mem_len = 6};
  SegmentShape shape{.streams = 2, .tgt_len = 32, .memory_rows = use.mem_len, .recompute = recompute};
  return model.record(arena, Tape::Mode::kTraining, parameters, use, shape)->tape.planned_bytes();
}

// Each further layer takes less room.
TEST(Recompute, KeepsAFractionOfALayer) {
  const auto of_a_layer = [](Recompute recompute) {
    return static_cast<double>(activation_bytes(24, recompute) - activation_bytes(12, recompute)) / 12.0;
  };
  const double kept = of_a_layer(Recompute::kNone);
  EXPECT_LT(of_a_layer(Recompute::kAttention), 0.6 * kept);
  EXPECT_LT(of_a_layer(Recompute::kBlock), 0.15 * kept);
}

}  // namespace
}  // namespace segue
