// Keys and values kept in training: equal to those of hidden states while weights stay, and made with the weights of
// their time when these change.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/config/memory_kind.h"
#include "core/config/visibility_kind.h"
#include "core/optimizer/optimizer.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kKeptSegment = 6;  // patterns of the variants repeat in it
constexpr int64_t kKeptStreams = 2;
constexpr int64_t kSegments = 5;

std::vector<ModelVariant> keys_values_variants() {
  std::vector<ModelVariant> variants = memory_variants();
  std::erase_if(variants,
                [](const ModelVariant& each) { return each.config().memory.kind != MemoryKind::kKeysValues; });
  return variants;
}

class KeysValues : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, KeysValues, testing::ValuesIn(keys_values_variants()), name_of_variant);

std::vector<double> as_doubles(const std::vector<float>& losses) { return {losses.begin(), losses.end()}; }

// The losses of a segment of all streams, whose memories go in and come out.
std::vector<double> oracle_losses(ModelProblem& problem, int64_t begin, int64_t count,
                                  std::vector<oracle::Memory>& memories) {
  const auto oracle = problem.oracle<double>();
  std::vector<double> losses;
  for (size_t b = 0; b < memories.size(); ++b) {
    const oracle::StreamTokens part = problem.stream_tokens(static_cast<int64_t>(b)).part(begin, count);
    const std::vector<double> nll = oracle::segmented_nll(problem.model.config(), oracle, part, count, memories[b]);
    losses.insert(losses.end(), nll.begin(), nll.end());
  }
  return losses;
}

ModelConfig with_hidden_states(ModelConfig config) {
  config.memory.kind = MemoryKind::kHiddenStates;
  return config;
}

// Rows of zeros are the keys and values of hidden states of zeros but for a layer norm before them.
bool begins_alike(const ModelConfig& config) { return !config.block.pre_lnorm || !use_of(config).starts_full(); }

TEST_P(KeysValues, EqualHiddenStatesWhileWeightsStay) {
  const ModelConfig config = GetParam().config();
  ModelProblem problem(config, kKeptStreams, kSegments * kKeptSegment);
  ModelProblem states(with_hidden_states(config), kKeptStreams, kSegments * kKeptSegment);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  SegmentEngine engine_of_states = states.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> kept = problem.make_memory(kKeptStreams);
  const std::unique_ptr<TrainingMemory> memory_of_states = states.make_memory(kKeptStreams);
  for (int64_t begin = 0; begin < problem.length(); begin += kKeptSegment) {
    const std::vector<float> found = problem.run(engine, begin, kKeptSegment, *kept);
    const std::vector<float> expected = states.run(engine_of_states, begin, kKeptSegment, *memory_of_states);
    if (!begins_alike(config) && begin < config.mem_len * config.n_layer) {
      EXPECT_NE(found, expected);
      continue;
    }
    if (begin == 0) {
      EXPECT_EQ(found, expected);
    }
    kernels::expect_close("nll", as_doubles(found), as_doubles(expected), kernels::kNetwork);
  }
}

// A problem that is trained segment by segment with a memory, and the oracle of the weights it has.
struct Training : ModelProblem {
  explicit Training(const ModelConfig& config)
      : ModelProblem(config, kKeptStreams, kSegments * kKeptSegment),
        learner(engine(Tape::Mode::kTraining)),
        memory(make_memory(kKeptStreams)),
        optimizer({}, parameters, queue) {}

  // The losses of the segment from `begin` on, and an update.
  std::vector<float> step(int64_t begin) {
    parameters.clear_gradients(queue);
    std::vector<float> losses =
        run(learner, begin, kKeptSegment, *memory, {.loss_scale = 1.0F / (kKeptStreams * kKeptSegment)});
    optimizer.step(0.01);
    return losses;
  }

  SegmentEngine learner;
  std::unique_ptr<TrainingMemory> memory;
  Optimizer optimizer;
};

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0.0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i] - b[i])));
  return largest;
}

// The oracle keeps what it made with the weights that there were.
TEST_P(KeysValues, StayAsTheWeightsOfTheirTimeMadeThem) {
  const ModelConfig config = GetParam().config();
  Training training(config);
  Training of_states(with_hidden_states(config));
  std::vector<oracle::Memory> memories(kKeptStreams, oracle::initial_memory(config));
  double from_states = 0.0;
  for (int64_t begin = 0; begin < training.length(); begin += kKeptSegment) {
    const std::vector<double> expected = oracle_losses(training, begin, kKeptSegment, memories);
    const std::vector<float> found = training.step(begin);
    kernels::expect_close("nll", as_doubles(found), expected, kernels::kNetwork);
    from_states = std::max(from_states, largest_difference(found, of_states.step(begin)));
  }
  if (config.mem_len > 0) {
    EXPECT_GT(from_states, 1e-3);
  } else {
    EXPECT_EQ(from_states, 0.0);
  }
}

// Segments of sparse models begin where periods do.
std::vector<ModelVariant> variants_of_any_length() {
  std::vector<ModelVariant> variants = keys_values_variants();
  std::erase_if(variants,
                [](const ModelVariant& each) { return each.config().visibility.kind == VisibilityKind::kSparse; });
  return variants;
}

class KeysValuesOfAnyLength : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, KeysValuesOfAnyLength, testing::ValuesIn(variants_of_any_length()), name_of_variant);

// Rows of every age stand where they stand today, however long the segments are that have passed since.
TEST_P(KeysValuesOfAnyLength, StandWhereTheyStandToday) {
  ModelConfig config = GetParam().config();
  config.mem_len = config.mem_len == 0 ? 0 : 17;
  config.position.max_positions = 0;
  name_position_rows(config, 9);
  constexpr std::array<int64_t, 9> kLengths{6, 1, 4, 9, 2, 1, 1, 7, 5};
  ModelProblem problem(config, kKeptStreams, 36);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kKeptStreams);
  std::vector<oracle::Memory> memories(kKeptStreams, oracle::initial_memory(config));
  int64_t begin = 0;
  for (const int64_t length : kLengths) {
    const std::vector<double> expected = oracle_losses(problem, begin, length, memories);
    const std::vector<float> found = problem.run(engine, begin, length, *memory);
    kernels::expect_close("nll", as_doubles(found), expected, kernels::kNetwork);
    begin += length;
  }
}

// What a row of memory costs, and what no segment computes anew.
TEST(KeysValuesCost, HasNoProductsForTheMemory) {
  ModelConfig config = small_model();
  const auto flops_with = [&](MemoryKind kind, int64_t mem_len) {
    config.memory.kind = kind;
    const Transformer model(config, ModelProblem::kVocabulary);
    Parameters parameters(model.parameter_specs());
    ModelUse use = use_of(config);
    use.mem_len = mem_len;
    return model.flops(parameters, use, full_segment(config, use, 1, kKeptSegment, kKeptSegment));
  };
  using enum MemoryKind;
  const int64_t heads = config.n_head * config.d_head;
  for (const int64_t mem_len : {0, 6, 11}) {
    const auto projection = static_cast<double>(config.n_layer * 2 * mem_len * config.d_model * 2 * heads);
    const Flops states = flops_with(kHiddenStates, mem_len), kept = flops_with(kKeysValues, mem_len);
    EXPECT_EQ(states.forward - kept.forward, projection);
    EXPECT_EQ(states.backward - kept.backward, projection);  // of the weights; rows have no gradient
  }
  const ModelUse use = use_of(config);
  EXPECT_EQ(make_training_memory(config, use, 3)->bytes(), config.n_layer * 3 * config.mem_len * 2 * heads * 4);
}

}  // namespace
}  // namespace segue
