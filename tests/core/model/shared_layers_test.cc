// One layer passed several times: the same as several layers of the same weights.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kPasses = 3;
constexpr int64_t kSharedSegment = 6;

struct SharedProblem : ModelProblem {
  explicit SharedProblem(const ModelConfig& config) : ModelProblem(config, 2, 2 * kSharedSegment) {}

  void clear(const std::string& name) {
    const OwnedTensor zeros(DType::kFloat32, parameters[name].value.shape);
    upload(name, zeros.view());
  }
  void upload(const std::string& name, ConstTensorView values) {
    for (size_t i = 0; i < parameters.specs().size(); ++i)
      if (parameters.specs()[i].name == name) parameters.upload(parameters.values(), i, values);
  }

  // Every layer's weights are those of the shared one.
  void take_weights(ModelProblem& shared) {
    for (const ParameterSpec& spec : parameters.specs()) {
      std::string name = spec.name;
      if (name.starts_with("layers.")) name = "layers.0" + name.substr(std::string("layers.0").size());
      upload(spec.name, shared.parameters[name].value);
    }
  }

  std::vector<float> train() {
    SegmentEngine engine = this->engine(Tape::Mode::kTraining);
    const std::unique_ptr<TrainingMemory> memory = make_memory(streams());
    parameters.clear_gradients(queue);
    const ReplayInfo info{.loss_scale = 0.1F};
    std::vector<float> losses = run(engine, 0, kSharedSegment, *memory, info);
    const std::vector<float> second = run(engine, kSharedSegment, kSharedSegment, *memory, info);
    losses.insert(losses.end(), second.begin(), second.end());
    return losses;
  }
};

ModelConfig shared_model(bool has_codes) {
  ModelConfig model = small_model();
  model.n_layer = kPasses;
  model.depth = {.kind = DepthKind::kShared, .step_codes = has_codes};
  return model;
}

TEST(SharedLayers, AreLayersOfTheSameWeights) {
  for (const bool has_codes : {false, true}) {
    SharedProblem shared(shared_model(has_codes));
    if (has_codes) shared.clear("depth.step_codes");
    ModelConfig fixed = shared_model(has_codes);
    fixed.depth = {};
    SharedProblem layers(fixed);
    layers.take_weights(shared);
    EXPECT_EQ(shared.train(), layers.train());
    for (const ParameterSpec& spec : shared.parameters.specs()) {
      if (!spec.name.starts_with("layers.0")) continue;
      std::vector<double> expected(static_cast<size_t>(spec.shape.elements()));
      for (int64_t layer = 0; layer < kPasses; ++layer) {
        const std::string name = "layers." + std::to_string(layer) + spec.name.substr(std::string("layers.0").size());
        expected = oracle::sum_of(expected, kernels::oracle_values(layers.parameters[name].gradient));
      }
      kernels::expect_close(spec.name, shared.parameters[spec.name].gradient, expected,
                            gradient_tolerance(shared.model.config()));
    }
  }
}

TEST(SharedLayers, TellPassesApartByTheirCodes) {
  SharedProblem with(shared_model(true)), without(shared_model(true));
  without.clear("depth.step_codes");
  EXPECT_NE(with.train(), without.train());
}

TEST(SharedLayers, HaveTheWeightsOfOne) {
  ModelConfig one = shared_model(false);
  one.depth = {};
  one.n_layer = 1;
  const Parameters expected(parameter_specs(one, ModelProblem::kVocabulary));
  EXPECT_EQ(Parameters(parameter_specs(shared_model(false), ModelProblem::kVocabulary)).count(), expected.count());
  EXPECT_EQ(Parameters(parameter_specs(shared_model(true), ModelProblem::kVocabulary)).count(),
            expected.count() + kPasses * one.d_model);
}

}  // namespace
}  // namespace segue
