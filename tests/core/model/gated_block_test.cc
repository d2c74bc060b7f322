// Gated blocks: settings at which they are the identity, a multiple of it, or the pre-norm Transformer. The tests of
// all kinds check their formulas and gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/kinds/block/gated/options.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kGatedSegment = 6;
constexpr int64_t kGatedStreams = 2;

constexpr ResidualGate kEveryGate[] = {ResidualGate::kGru, ResidualGate::kHighway, ResidualGate::kSigmoidTanh,
                                       ResidualGate::kInput, ResidualGate::kOutput};

ModelConfig gated_model(ResidualGate gate = ResidualGate::kGru) {
  ModelConfig model = small_model();
  model.block = {.kind = BlockKind::kGated, .gate = gate};
  model.head.tie_weight = false;
  return model;
}

struct GatedProblem : ModelProblem {
  explicit GatedProblem(const ModelConfig& config, const Compute& compute = {})
      : ModelProblem(config, kGatedStreams, 2 * kGatedSegment, compute) {}

  // Makes every element of the parameters whose names end so something of what it is.
  void change(std::string_view end, const std::function<float(float)>& to) {
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      if (!parameters.specs()[i].name.ends_with(end)) continue;
      OwnedTensor values = host_copy(parameters.part_of(parameters.values(), i), {});
      for (int64_t e = 0; e < values.shape().elements(); ++e) values.as<float>()[e] = to(values.as<float>()[e]);
      parameters.upload(parameters.values(), i, values.view());
    }
    parameters.refresh_compute_copy();
  }
  void set(std::string_view end, float value) {
    change(end, [=](float /*drawn*/) { return value; });
  }
  void clear_matrices() {
    for (const char* matrix : {".w", ".u", ".w_r", ".u_r", ".w_z", ".u_z", ".w_g", ".u_g"})
      set(std::string("gate") + matrix, 0.0F);
  }

  // Those that both have.
  void take_weights(ModelProblem& from) {
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      const std::string& name = parameters.specs()[i].name;
      if (from.parameters.contains(name)) parameters.upload(parameters.values(), i, from.parameters[name].value);
    }
    parameters.refresh_compute_copy();
  }

  // Losses of the second segment, behind the first.
  std::vector<float> losses() {
    SegmentEngine engine = this->engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> memory = make_memory(kGatedStreams);
    run(engine, 0, kGatedSegment, *memory);
    return run(engine, kGatedSegment, kGatedSegment, *memory);
  }
};

// The numbers of those losses, [B, T], that stay when all other tokens become others.
std::set<int64_t> unmoved(GatedProblem& problem, int64_t token) {
  const std::vector<float> before = problem.losses();
  for (int64_t b = 0; b < kGatedStreams; ++b) {
    for (int64_t t = 0; t < problem.length(); ++t) {
      int32_t& number = problem.tokens.as<int32_t>()[b * problem.length() + t];
      if (t != kGatedSegment + token) number = (number + 5) % static_cast<int32_t>(ModelProblem::kVocabulary);
    }
  }
  const std::vector<float> after = problem.losses();
  std::set<int64_t> same;
  for (size_t i = 0; i < after.size(); ++i)
    if (before[i] == after[i]) same.insert(static_cast<int64_t>(i));
  return same;
}

// A share of e^-40 is lost in single precision beside the residual: what a token makes depends on that token alone.
TEST(GatedBlock, OfALargeBiasIsTheIdentity) {
  for (const ResidualGate gate : {ResidualGate::kGru, ResidualGate::kSigmoidTanh, ResidualGate::kOutput}) {
    GatedProblem problem(gated_model(gate)), mixing(gated_model(gate));
    problem.set("gate.bias", 40.0F);
    EXPECT_EQ(unmoved(problem, 3), (std::set<int64_t>{3, kGatedSegment + 3})) << name_of_choice(gate);
    EXPECT_TRUE(unmoved(mixing, 3).empty()) << name_of_choice(gate);
  }
}

// A highway of a large bias adds what it takes away, up to rounding.
TEST(GatedBlock, AreAllTheSameIdentity) {
  GatedProblem gru(gated_model());
  gru.set("gate.bias", 40.0F);
  const std::vector<float> expected = gru.losses();
  for (const ResidualGate gate : {ResidualGate::kHighway, ResidualGate::kSigmoidTanh, ResidualGate::kOutput}) {
    GatedProblem problem(gated_model(gate));
    problem.take_weights(gru);
    problem.clear_matrices();
    problem.set("gate.bias", 40.0F);
    const std::vector<float> losses = problem.losses();
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-5) << name_of_choice(gate);
  }
}

// Without matrices the candidate is 0, and (1 - s(-b)) of the residual passes each of two gates in each layer.
TEST(GatedBlock, AGruOfNoMatricesKeepsAShareOfTheResidual) {
  GatedProblem identity(gated_model());
  identity.set("gate.bias", 40.0F);
  for (const float bias : {-1.0F, 0.0F, 2.0F}) {
    GatedProblem problem(gated_model());
    problem.clear_matrices();
    problem.set("gate.bias", bias);
    const double kept = 1.0 - 1.0 / (1.0 + std::exp(static_cast<double>(bias)));
    const auto share = static_cast<float>(std::pow(kept, 2 * problem.model.config().n_layer));
    GatedProblem scaled(gated_model());
    scaled.take_weights(identity);
    scaled.change("embedding.table", [=](float drawn) { return share * drawn; });
    const std::vector<float> found = problem.losses(), expected = scaled.losses();
    EXPECT_NE(expected, identity.losses());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << bias << ", " << i;
  }
}

// Where branches are above zero the rectifier is the identity, and an output gate that is wide open is a sum. Rows that
// a norm makes are at least 5 - sqrt(D - 1), and averages of them no less.
TEST(GatedBlock, OpenAndOfBranchesAboveZeroIsThePreNormTransformer) {
  ModelConfig sums = gated_model();
  sums.block = {.pre_lnorm = true};
  for (const bool with_final_norm : {false, true}) {
    ModelConfig gated = gated_model(ResidualGate::kOutput);
    gated.block.final_norm = sums.block.final_norm = with_final_norm;
    GatedProblem expected(sums), problem(gated);
    expected.set("attention.norm.gain", 1.0F);
    expected.set("attention.norm.bias", 5.0F);
    for (const char* name : {"attention.qkv", "attention.output"})
      expected.change(name, [](float drawn) { return std::abs(drawn); });
    expected.set("feed_forward.b2", 30.0F);
    problem.take_weights(expected);
    problem.clear_matrices();
    problem.set("gate.bias", -200.0F);
    EXPECT_EQ(problem.losses(), expected.losses());
    problem.set("gate.bias", -2.0F);
    EXPECT_NE(problem.losses(), expected.losses());
  }
}

// What the first layer keeps is what it read, before its norm: the embeddings, as a pre-norm Transformer keeps them.
TEST(GatedBlock, KeepsTheResidualItself) {
  ModelConfig sums = gated_model();
  sums.block = {.pre_lnorm = true};
  GatedProblem transformer(sums), problem(gated_model());
  problem.take_weights(transformer);
  std::vector<OwnedTensor> kept;
  for (GatedProblem* each : {&transformer, &problem}) {
    SegmentEngine engine = each->engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> memory = each->make_memory(kGatedStreams);
    each->run(engine, 0, kGatedSegment, *memory);
    kept.push_back(host_copy(memory->state().front().tensor, {}));
  }
  kernels::expect_identical("inputs", kept[1].view(), kept[0].view());
}

TEST(GatedBlock, EveryParameterLearns) {
  for (const ResidualGate gate : kEveryGate) {
    GatedProblem problem(gated_model(gate));
    SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kGatedStreams);
    problem.parameters.clear_gradients(problem.queue);
    problem.run(engine, 0, kGatedSegment, *memory);
    int64_t of_gates = 0;
    for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
      const std::string& name = problem.parameters.specs()[i].name;
      of_gates += name.find(".gate.") != std::string::npos ? 1 : 0;
      EXPECT_GT(kernels::largest(kernels::oracle_values(problem.parameters.part_of(problem.parameters.gradients(), i))),
                0.0)
          << name << ", " << name_of_choice(gate);
    }
    const int64_t of_one = gate == ResidualGate::kGru ? 7 : gate == ResidualGate::kSigmoidTanh ? 3 : 1 + has_bias(gate);
    EXPECT_EQ(of_gates, 2 * problem.model.config().n_layer * of_one) << name_of_choice(gate);
  }
}

TEST(GatedBlock, BiasesBeginAsTheConfigSays) {
  for (const ResidualGate gate : kEveryGate) {
    for (const double bias : {2.0, -0.5}) {
      ModelConfig model = gated_model(gate);
      model.block.gate_bias = bias;
      Parameters parameters(parameter_specs(model, 23));
      parameters.initialize(model.init, 5);
      for (size_t i = 0; i < parameters.specs().size(); ++i) {
        if (!parameters.specs()[i].name.ends_with("gate.bias")) continue;
        for (const double element : kernels::oracle_values(parameters.part_of(parameters.values(), i)))
          EXPECT_EQ(element, bias) << parameters.specs()[i].name;
      }
      EXPECT_EQ(parameters.contains("layers.1.feed_forward.gate.bias"), has_bias(gate));
    }
  }
}

}  // namespace
}  // namespace segue
