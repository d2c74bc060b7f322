// Layers with axis objects of their own: where all have the same ones, the model is that model to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "core/attention/visibility.h"
#include "core/config/position_kind.h"
#include "core/config/visibility_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

// The model whose layers all override what `model` says, and whose own objects are others.
ModelConfig overridden_everywhere(const ModelConfig& model) {
  ModelConfig overridden = model;
  overridden.layers = {{.only = {1, 0}, .position = model.position, .visibility = model.visibility}};
  overridden.position = {.kind = PositionKind::kT5, .untie_r = model.position.kind == PositionKind::kAlibi};
  overridden.visibility = {.kind = VisibilityKind::kWindow, .window = 2};
  return overridden;
}

std::vector<std::string> names_of(std::span<const ParameterSpec> specs) {
  std::vector<std::string> names(specs.size());
  std::ranges::transform(specs, names.begin(), &ParameterSpec::name);
  return names;
}

// Losses of three segments, with a memory of hidden states and with a KV cache, and the gradients of the last.
struct FoundOfLayers {
  std::vector<std::string> parameters = {};
  std::vector<float> losses = {}, cached = {};
  std::vector<double> gradients = {};
  bool operator==(const FoundOfLayers&) const = default;
};

FoundOfLayers train(ModelConfig config) {
  config.dropout = 0.2;
  ModelProblem problem(config, 2, 21);
  FoundOfLayers found{.parameters = names_of(problem.parameters.specs())};
  SegmentEngine training = problem.engine(Tape::Mode::kTraining);
  SegmentEngine evaluation = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  const std::unique_ptr<Memory> cache = make_frozen_memory(problem.in_use(), 2, 7);
  for (int64_t begin = 0; begin < 21; begin += 7) {
    problem.parameters.clear_gradients(problem.queue);
    const std::vector<float> nll = problem.run(training, begin, 7, *memory, {.seed = 3, .step = 8});
    found.losses.insert(found.losses.end(), nll.begin(), nll.end());
    const std::vector<float> cached = problem.run(evaluation, begin, 7, *cache);
    found.cached.insert(found.cached.end(), cached.begin(), cached.end());
  }
  found.gradients = kernels::oracle_values(problem.parameters.gradients());
  return found;
}

TEST(Layers, OverridingEveryLayerIsTheModelToTheBit) {
  std::vector<ModelVariant> variants = position_variants();
  for (const char* name : {"post_norm", "untie_r", "clamp_len", "rope_scaled", "t5_odd_buckets_zeros", "same_length"})
    variants.push_back(model_variant(name));
  for (const ModelVariant& variant : variants) {
    const ModelConfig model = variant.config();
    if (offered_by(model.position.kind).vectors) continue;  // not a layer's
    EXPECT_EQ(train(overridden_everywhere(model)), train(model)) << variant.name;
  }
}

TEST(Layers, AnEmptyListAndAnEqualObjectChangeNothing) {
  for (const char* name : {"post_norm", "position_t5", "position_rope", "position_learned", "window"}) {
    const ModelConfig model = model_variant(name).config();
    ModelConfig equal = model;
    equal.layers = {{.only = {1}, .visibility = model.visibility}};
    if (!offered_by(model.position.kind).vectors) equal.layers[0].position = model.position;
    EXPECT_EQ(train(equal), train(model)) << name;
  }
}

// A kind's shared parameters are there when any layer has the kind, once, and a layer's where it has it.
TEST(Layers, DeclareWhatTheyUse) {
  const auto names_with = [](const char* variant) {
    return names_of(parameter_specs(model_variant(variant).config(), 23));
  };
  using testing::Contains;
  using testing::Not;
  const std::vector<std::string> t5 = names_with("layers_alibi_then_t5_zeros");
  EXPECT_THAT(t5, Contains("attention.buckets").Times(1));
  const std::vector<std::string> relative = names_with("layers_none_then_relative_pre_norm");
  EXPECT_THAT(relative, Contains("attention.u").Times(1));
  EXPECT_THAT(relative, Contains("layers.1.attention.r"));
  EXPECT_THAT(relative, Not(Contains("layers.0.attention.r")));
  EXPECT_THAT(names_with("layers_relative_clamped_apart"), Contains("attention.w").Times(1));
}

// Layers keep their own use; the model's is that of the others.
TEST(Layers, AreUsedAsTheySayWhateverTheModelsUse) {
  const ModelConfig trained = model_variant("layers_relative_first_with_a_window").config();
  ModelConfig other = trained;
  other.position.clamp_len = 5;
  other.visibility = {.kind = VisibilityKind::kWindow, .window = 6};
  ModelProblem problem(trained, 2, 14), expected(other, 2, 14);
  const ModelInUse in_use{problem.model, use_of(other), problem.parameters, problem.arena, problem.queue};
  SegmentEngine engine(in_use, Tape::Mode::kEvaluation);
  SegmentEngine of_expected = expected.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2), expected_memory = expected.make_memory(2);
  for (const int64_t begin : {0, 7})
    EXPECT_EQ(problem.run(engine, begin, 7, *memory), expected.run(of_expected, begin, 7, *expected_memory));
  EXPECT_EQ(widest_reach(trained, use_of(trained)), std::vector<int64_t>{0});
  EXPECT_EQ(widest_reach(trained, use_of(other)), std::vector<int64_t>{6});
}

// A window in every layer costs no less where the model's own object says so than where each layer does; and layers
// without distance terms cost less than those with them.
TEST(Layers, CountTheOperationsOfEveryLayer) {
  const auto flops_with = [](const std::vector<LayerOverride>& layers) {
    ModelConfig model = small_model();
    model.layers = layers;
    const Transformer transformer(model, 23);
    Parameters parameters(transformer.parameter_specs());
    const ModelUse use = use_of(model);
    return transformer.flops(parameters, use, full_segment(transformer.config(), use, 2, 7, 7)).forward;
  };
  const PositionConfig none{.kind = PositionKind::kNone};
  const double all = flops_with({});
  const double one = flops_with({{.only = {1}, .position = none}});
  const double no_layer = flops_with({{.only = {0, 1}, .position = none}});
  EXPECT_LT(one, all);
  EXPECT_DOUBLE_EQ(all - one, one - no_layer);
}

}  // namespace
}  // namespace segue
