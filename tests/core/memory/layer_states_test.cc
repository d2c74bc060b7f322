// States of layers: handed on, saved by their layers' numbers, and refused where a checkpoint has others.
#include "core/memory/layer_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "core/config/position_kind.h"
#include "core/config/score_kind.h"
#include "core/memory/memory.h"
#include "tests/kernels/testing.h"
#include "tests/message_of.h"

namespace segue {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kStateStreams = 2;

// The middle one of three layers attends.
ModelConfig hybrid() {
  ModelConfig model{.n_layer = 3, .n_head = 2, .d_model = 8, .d_head = 5, .mem_len = 4};
  model.layers.push_back({.only = {0, 2}, .position = PositionConfig{.kind = PositionKind::kNone}});
  model.layers.back().score = ScoreConfig{.kind = ScoreKind::kState};
  return model;
}

StateMemory memory_of(const ModelConfig& model) { return {model, use_of(model), kStateStreams, Compute()}; }

std::vector<OwnedTensor> copies_of(const std::vector<NamedTensor>& state) {
  std::vector<OwnedTensor> copies;
  for (const NamedTensor& tensor : state) copies.push_back(host_copy(tensor.tensor, {}));
  return copies;
}

std::vector<ConstTensorView> as_saved(const std::vector<OwnedTensor>& tensors) {
  std::vector<ConstTensorView> views;
  for (const OwnedTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

TEST(StateMemory, NamesLayersAndCountsWhatItKeeps) {
  const StateMemory memory = memory_of(hybrid());
  std::vector<std::string> names;
  for (const NamedTensor& tensor : memory.state()) names.push_back(tensor.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"states.0", "states.2"}));
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("states.1")));
  const int64_t states = 2 * kStateStreams * 2 * 5 * 5 * bytes_of(DType::kFloat32);
  EXPECT_EQ(
      memory.bytes(),
      states + make_training_memory(ModelConfig{.n_layer = 1, .n_head = 2, .d_model = 8, .d_head = 5, .mem_len = 4},
                                    use_of(hybrid()), kStateStreams)
                   ->bytes());
}

TEST(StateMemory, HasTheTailsOfConvolutionsBehindTheState) {
  ModelConfig model = hybrid();
  model.layers[0].score->convolution = 3;
  model.layers[0].score->output_norm = StateNorm::kWeights;
  model.layers[0].score->feature = StateFeature::kPerformer;
  model.layers[0].score->random_features = 7;
  std::vector<std::string> found;
  for (const NamedTensor& tensor : memory_of(model).state())
    found.push_back(tensor.name + " " + tensor.tensor.shape.text());
  EXPECT_THAT(found, ::testing::IsSupersetOf({"states.0 [2, 2, 7, 6]", "tails.q.0 [2, 2, 10]", "tails.k.0 [2, 2, 10]",
                                              "tails.v.0 [2, 2, 10]", "states.2 [2, 2, 7, 6]"}));
}

TEST(StateMemory, ComesBackAndBeginsAgainWithZeros) {
  StateMemory memory = memory_of(hybrid());
  std::vector<OwnedTensor> saved = copies_of(memory.state());
  float next = 1.0F;
  for (OwnedTensor& tensor : saved)
    for (int64_t i = 0; i < tensor.shape().elements(); ++i) tensor.as<float>()[i] = next++;
  memory.restore(as_saved(saved));
  const std::vector<NamedTensor> restored = memory.state();
  ASSERT_EQ(restored.size(), saved.size());
  for (size_t i = 0; i < saved.size(); ++i)
    kernels::expect_identical(restored[i].name, restored[i].tensor, saved[i].view());
  memory.reset();
  for (const NamedTensor& tensor : memory.state()) {
    for (int64_t i = 0; i < tensor.tensor.shape.elements(); ++i)
      ASSERT_EQ(tensor.tensor.as<float>()[i], 0.0F) << tensor.name;
  }
}

TEST(StateMemory, RefusesOtherStates) {
  StateMemory memory = memory_of(hybrid());
  std::vector<OwnedTensor> saved = copies_of(memory.state());
  const auto error = [&] { return message_of<CheckpointError>([&] { memory.restore(as_saved(saved)); }); };
  saved.back() = OwnedTensor(DType::kFloat32, {kStateStreams, 2, 5, 4});
  EXPECT_EQ(error(), "states.2 is float32 [2, 2, 5, 4], expected float32 [2, 2, 5, 5]");
  saved.back() = OwnedTensor(DType::kInt32, {kStateStreams, 2, 5, 5});
  EXPECT_EQ(error(), "states.2 is int32 [2, 2, 5, 5], expected float32 [2, 2, 5, 5]");
  saved.erase(saved.begin(), saved.end() - 1);
  EXPECT_EQ(error(), "expected 2 tensors of states, found 1");
}

}  // namespace
}  // namespace segue
