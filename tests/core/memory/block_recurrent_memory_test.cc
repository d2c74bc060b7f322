// Recurrent states: what is kept of them, and settings at which they are other models. memory_tokens_test and the tests
// of all kinds check their formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/kinds/memory/block_recurrent/options.h"
#include "tests/core/model/model_problem.h"
#include "tests/message_of.h"

namespace segue {
namespace {

constexpr int64_t kRecurrentSegment = 5;
constexpr int64_t kRecurrentStreams = 2;

ModelConfig recurrent_model(RecurrentGate gate = RecurrentGate::kFixed) {
  ModelConfig model = small_model();
  model.memory = {.kind = MemoryKind::kBlockRecurrent, .states = 3, .gate = gate};
  return model;
}

struct RecurrentProblem : ModelProblem {
  explicit RecurrentProblem(const ModelConfig& config, int64_t segments = 4, const Compute& compute = {})
      : ModelProblem(config, kRecurrentStreams, segments * kRecurrentSegment, compute) {}

  // Sets every element of the parameters whose names end so.
  void set(std::string_view end, float value) {
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      const ParameterSpec& spec = parameters.specs()[i];
      if (!spec.name.ends_with(end)) continue;
      OwnedTensor values(DType::kFloat32, spec.shape);
      std::fill_n(values.as<float>(), spec.shape.elements(), value);
      parameters.upload(parameters.values(), i, values.view());
    }
    parameters.refresh_compute_copy();
  }

  // Those that both have.
  void take_weights(ModelProblem& from) {
    for (size_t i = 0; i < parameters.specs().size(); ++i) {
      const std::string& name = parameters.specs()[i].name;
      if (from.parameters.contains(name)) parameters.upload(parameters.values(), i, from.parameters[name].value);
    }
    parameters.refresh_compute_copy();
  }

  std::vector<float> read(SegmentEngine& engine, int64_t segment, Memory& memory) const {
    return run(engine, segment * kRecurrentSegment, kRecurrentSegment, memory);
  }

  // Losses of all segments.
  std::vector<float> losses() {
    SegmentEngine engine = this->engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> memory = make_memory(kRecurrentStreams);
    std::vector<float> all;
    for (int64_t segment = 0; segment < length() / kRecurrentSegment; ++segment)
      for (const float loss : read(engine, segment, *memory)) all.push_back(loss);
    return all;
  }

  // Gradients of a step of so many segments, behind one that gives the memory.
  std::map<std::string, std::vector<double>> gradients_of(int64_t segments) {
    SegmentEngine engine = this->engine(Tape::Mode::kTraining);
    const std::unique_ptr<TrainingMemory> memory = make_memory(kRecurrentStreams, parameters.compute());
    read(engine, 0, *memory);
    parameters.clear_gradients(queue);
    const int64_t count = segments * kRecurrentSegment;
    const OwnedTensor inputs = columns_of(tokens, kRecurrentSegment, count);
    const OwnedTensor outputs = columns_of(targets, kRecurrentSegment, count);
    engine.run({.tokens = inputs.view(), .targets = outputs.view(), .info = {}, .segment_length = kRecurrentSegment},
               *memory);
    std::map<std::string, std::vector<double>> gradients;
    for (size_t i = 0; i < parameters.specs().size(); ++i)
      gradients[parameters.specs()[i].name] = kernels::oracle_values(parameters.part_of(parameters.gradients(), i));
    return gradients;
  }

  // The parameters that it moves.
  std::set<std::string> learned_by(int64_t segments) {
    std::set<std::string> learned;
    for (const auto& [name, gradient] : gradients_of(segments))
      if (kernels::largest(gradient) > 0.0) learned.insert(name);
    return learned;
  }

  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const ParameterSpec& spec : parameters.specs()) names.insert(spec.name);
    return names;
  }
};

std::vector<OwnedTensor> state_copies(const TrainingMemory& memory) {
  std::vector<OwnedTensor> copies;
  for (const NamedTensor& tensor : memory.state()) copies.push_back(host_copy(tensor.tensor, {}));
  return copies;
}

std::vector<ConstTensorView> as_restored(const std::vector<OwnedTensor>& tensors) {
  std::vector<ConstTensorView> views;
  for (const OwnedTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

TEST(BlockRecurrentMemory, IsOfTheThirdLayerFromTheTop) {
  ModelConfig model = recurrent_model();
  model.n_layer = 12;
  EXPECT_EQ(recurrent_layer(model), 9);
  model.n_layer = 2;
  EXPECT_EQ(recurrent_layer(model), 0);
  model.memory.recurrent_layer = 1;
  EXPECT_EQ(recurrent_layer(model), 1);
  const std::unique_ptr<TrainingMemory> memory = RecurrentProblem(model).make_memory(kRecurrentStreams);
  const NamedTensor states = memory->state().back();
  EXPECT_EQ(states.name, "recurrent.1");
  EXPECT_EQ(states.tensor.shape, Shape({kRecurrentStreams, 3, model.d_model}));
}

// Rows grow up to mem_len, and none of the bytes of states depends on it.
TEST(BlockRecurrentMemory, HasRowsBesideIt) {
  const ModelConfig model = recurrent_model();
  RecurrentProblem problem(model);
  ModelConfig rows = model;
  rows.memory = {};
  const int64_t of_states = kRecurrentStreams * 3 * model.d_model * bytes_of(DType::kFloat32);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kRecurrentStreams);
  EXPECT_EQ(memory->bytes(), of_states + make_training_memory(rows, use_of(rows), kRecurrentStreams)->bytes());
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  for (int64_t segment = 0; segment < 3; ++segment) {
    const int64_t grown = std::min(segment * kRecurrentSegment, model.mem_len);
    EXPECT_EQ(memory->state().front().tensor.shape, Shape({kRecurrentStreams, grown, model.d_model}));
    problem.read(engine, segment, *memory);
  }
  memory->set_mem_len(problem.queue, 2);
  EXPECT_EQ(memory->state().front().tensor.shape, Shape({kRecurrentStreams, 2, model.d_model}));
}

TEST(BlockRecurrentMemory, GoesOnFromAStateAndBeginsAgain) {
  RecurrentProblem problem(recurrent_model());
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kRecurrentStreams);
  const std::unique_ptr<TrainingMemory> other = problem.make_memory(kRecurrentStreams);
  const std::vector<float> first = problem.read(engine, 0, *memory);
  problem.read(engine, 1, *memory);
  const std::vector<OwnedTensor> saved = state_copies(*memory);
  other->restore(as_restored(saved));
  const std::vector<float> expected = problem.read(engine, 2, *memory);
  EXPECT_EQ(problem.read(engine, 2, *other), expected);
  other->reset();
  EXPECT_EQ(problem.read(engine, 0, *other), first);
  EXPECT_NE(problem.read(engine, 2, *other), expected);
}

TEST(BlockRecurrentMemory, RefusesStatesOfAnotherNumber) {
  RecurrentProblem problem(recurrent_model());
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kRecurrentStreams);
  std::vector<OwnedTensor> saved = state_copies(*memory);
  saved.back() = OwnedTensor(DType::kFloat32, {kRecurrentStreams, 4, 14});
  EXPECT_EQ(message_of<CheckpointError>([&] { memory->restore(as_restored(saved)); }),
            "recurrent.0 is float32 [2, 4, 14], expected float32 [2, 3, 14]");
}

// Which segments the states have read is all that differs, however these come.
TEST(BlockRecurrentMemory, IsTheSameFromPartsOfEverySize) {
  for (const RecurrentGate gate : {RecurrentGate::kFixed, RecurrentGate::kLstm}) {
    RecurrentProblem problem(recurrent_model(gate), 6);
    SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(kRecurrentStreams);
    const std::unique_ptr<FrozenMemory> parts =
        make_frozen_memory(problem.in_use(), kRecurrentStreams, kRecurrentSegment);
    for (int64_t segment = 0; segment < 6; ++segment) {
      const std::vector<float> expected = problem.read(engine, segment, *memory);
      const int64_t size = 1 + segment % kRecurrentSegment;
      for (int64_t part = 0; part < kRecurrentSegment; part += part == 0 ? size : 1) {
        const int64_t count = part == 0 ? size : 1;
        const std::vector<float> found = problem.run(engine, segment * kRecurrentSegment + part, count, *parts);
        for (int64_t b = 0; b < kRecurrentStreams; ++b)
          for (int64_t t = 0; t < count; ++t)
            EXPECT_NEAR(found[b * count + t], expected[b * kRecurrentSegment + part + t], 1e-5)
                << segment << ", " << part;
      }
    }
  }
}

TEST(BlockRecurrentMemory, UnreadIsTheModelWithoutIt) {
  ModelConfig rows = recurrent_model();
  rows.memory = {};
  for (const bool pre_lnorm : {false, true}) {
    rows.block.pre_lnorm = pre_lnorm;
    ModelConfig config = recurrent_model();
    config.block.pre_lnorm = pre_lnorm;
    RecurrentProblem without(rows), problem(config);
    problem.take_weights(without);
    EXPECT_NE(problem.losses(), without.losses());
    problem.set("attention.states.output", 0.0F);
    EXPECT_EQ(problem.losses(), without.losses());
  }
}

// A layer learns to write through the next segment alone.
TEST(BlockRecurrentMemory, EveryParameterLearnsThroughTwoSegments) {
  for (const RecurrentGate gate : {RecurrentGate::kFixed, RecurrentGate::kLstm}) {
    RecurrentProblem problem(recurrent_model(gate));
    EXPECT_EQ(problem.learned_by(2), problem.names());
    std::set<std::string> unlearned = problem.names();
    for (const std::string& name : problem.learned_by(1)) unlearned.erase(name);
    const std::string layer = "layers.0.recurrent.";
    std::set<std::string> expected{layer + "output", layer + "token_q"};
    if (gate == RecurrentGate::kFixed) expected.insert(layer + "keep");
    for (const char* name : {"forget", "forget_bias", "input", "input_bias"})
      if (gate == RecurrentGate::kLstm) expected.insert(layer + name);
    EXPECT_EQ(unlearned, expected);
  }
}

// Of a share of 1, in single precision, states stay what they are where streams begin: zeros.
TEST(BlockRecurrentMemory, AGateThatKeepsAllLetsNothingIn) {
  RecurrentProblem fixed(recurrent_model()), lstm(recurrent_model(RecurrentGate::kLstm));
  fixed.set("recurrent.keep", 120.0F);
  lstm.set("recurrent.input_bias", -120.0F);
  for (RecurrentProblem* problem : {&fixed, &lstm}) {
    SegmentEngine engine = problem->engine(Tape::Mode::kEvaluation);
    const std::unique_ptr<TrainingMemory> memory = problem->make_memory(kRecurrentStreams);
    for (int64_t segment = 0; segment < 2; ++segment) problem->read(engine, segment, *memory);
    EXPECT_EQ(kernels::largest(kernels::oracle_values(state_copies(*memory).back().view())), 0.0);
  }
}

// Gates that do not look at what states attended to are shares; of opposite biases, one is what the other leaves.
TEST(BlockRecurrentMemory, TheLstmGateOfBiasesAloneIsTheFixedOne) {
  RecurrentProblem fixed(recurrent_model()), lstm(recurrent_model(RecurrentGate::kLstm));
  lstm.take_weights(fixed);
  for (const char* weight : {"recurrent.forget", "recurrent.input"}) lstm.set(weight, 0.0F);
  lstm.set("recurrent.forget_bias", 0.75F);
  lstm.set("recurrent.input_bias", -0.75F);
  fixed.set("recurrent.keep", 0.75F);
  const std::vector<float> expected = fixed.losses(), found = lstm.losses();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

}  // namespace
}  // namespace segue
