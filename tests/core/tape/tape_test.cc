// The tape: what is planned into one block of memory stays intact for as long as something needs it.
#include "core/tape/tape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/model/model_problem.h"
#include "tests/core/tape/filled.h"
#include "tests/message_of.h"

namespace segue {
namespace {

using kernels::Queue;

// Overwrites or adds, as the tape says.
void contribute(const Tape& tape, const GradientUse& use, float value) {
  const TensorView view = tape.write(use);
  for (int64_t i = 0; i < view.elements(); ++i) {
    float& element = view.as<float>()[i];
    element = tape.accumulates(use) ? element + value : value;
  }
}

// A random program. Operation k fills its result with k + 1, saves its inputs for backward, and hands each input a
// gradient of k + 1, the last use first. Every operation checks that what it reads is what was written.
class RandomProgram {
 public:
  // Seven operations of ten are a part.
  RandomProgram(Tape& tape, uint64_t seed) : random_{.seed = seed} {
    std::optional<RecomputedPart> part;
    for (int k = 0; k < kOperations; ++k) {
      if (k % 10 == 2) part.emplace(tape, Recompute::kBlock);
      add_operation(tape, k);
      if (k % 10 == 8) part.reset();
    }
    tape.seal();
  }

  static constexpr int kOperations = 40;
  int checks = 0;
  int64_t elements = 0;

 private:
  uint32_t draw(uint32_t below) { return random_bits(random_, drawn_++) % below; }

  std::vector<int> draw_inputs(int k) {
    std::vector<int> inputs;
    for (uint32_t i = 0; k > 0 && i < 1 + draw(3); ++i) inputs.push_back(static_cast<int>(draw(k)));
    return inputs;
  }

  void expect(ConstTensorView found, float value, const std::string& what) {
    ++checks;
    EXPECT_TRUE(is_all(found, value)) << what << ": found " << found.as<float>()[0] << ", expected " << value;
  }

  void add_operation(Tape& tape, int k) {
    const Value y = tape.new_value({1 + draw(700)});
    const Slot saved = tape.new_slot({1 + draw(300)});
    elements += 2 * tape.shape(y.data).elements() + tape.shape(saved).elements();
    values_.push_back(y);
    gradient_sums_.push_back(0.0F);
    const std::vector<int> inputs = draw_inputs(k);
    std::vector<GradientUse> uses;
    Tape::Operation operation;
    operation.forward_slots = {y.data, saved};
    operation.backward_slots = {y.gradient, saved};
    for (const int input : inputs) {
      uses.push_back(tape.use_gradient(values_[input]));
      gradient_sums_[input] += static_cast<float>(k + 1);
      operation.forward_slots.push_back(values_[input].data);
      operation.backward_slots.push_back(values_[input].data);
      operation.backward_slots.push_back(uses.back().slot);
    }
    // Results are written before inputs are checked: they may not share memory within an operation either.
    operation.forward = [this, &tape, k, y, saved, inputs](Queue&) {
      fill(tape.write(y.data), static_cast<float>(k + 1));
      fill(tape.write(saved), static_cast<float>(-k - 1));
      for (const int input : inputs)
        expect(tape.read(values_[input].data), static_cast<float>(input + 1), "forward " + std::to_string(k));
    };
    operation.backward = [this, &tape, k, y, saved, inputs, uses](Queue&) {
      const std::string where = "backward " + std::to_string(k);
      for (auto use = uses.rbegin(); use != uses.rend(); ++use) contribute(tape, *use, static_cast<float>(k + 1));
      expect(tape.read(saved), static_cast<float>(-k - 1), where + " saved");
      if (gradient_sums_[k] != 0.0F) expect(tape.read(y.gradient), gradient_sums_[k], where + " gradient");
      for (const int input : inputs)
        expect(tape.read(values_[input].data), static_cast<float>(input + 1), where + " input");
    };
    tape.record(std::move(operation));
  }

  RandomSequence random_;
  uint64_t drawn_ = 0;
  std::vector<Value> values_;
  std::vector<float> gradient_sums_;
};

TEST(Tape, NothingIsOverwrittenBeforeItsLastUse) {
  Queue queue(1);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kBlock}) {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      Arena arena;
      Tape tape(arena, Tape::Mode::kTraining);
      tape.recompute(recompute);
      RandomProgram program(tape, seed);
      for (int replay = 0; replay < 2; ++replay) {
        tape.forward(queue);
        tape.backward(queue);
      }
      EXPECT_GT(program.checks, 4 * RandomProgram::kOperations);
      EXPECT_LT(tape.planned_bytes(), program.elements * 4) << "nothing shares memory";
      EXPECT_GE(arena.bytes(), tape.planned_bytes());
    }
  }
}

TEST(Tape, TheLastConsumerOverwritesTheOthersAdd) {
  Arena arena;
  Tape tape(arena, Tape::Mode::kTraining);
  const Value x = tape.new_value({8});
  const GradientUse uses[] = {tape.use_gradient(x), tape.use_gradient(x), tape.use_gradient(x)};
  EXPECT_TRUE(tape.accumulates(uses[0]));
  EXPECT_TRUE(tape.accumulates(uses[1]));
  EXPECT_FALSE(tape.accumulates(uses[2]));
}

TEST(Tape, AKeptTensorLastsUntilTheNextReplay) {
  Queue queue(1);
  Arena arena;
  Tape tape(arena, Tape::Mode::kTraining);
  const Slot scratch = tape.new_slot({100});
  tape.record({.forward_slots = {},
               .forward = [](Queue&) {},
               .backward_slots = {scratch},
               .backward = [&](Queue&) { fill(tape.write(scratch), 2.0F); }});
  const Slot kept = tape.new_slot({100});
  tape.keep(kept);
  tape.record({.forward_slots = {kept},
               .forward = [&](Queue&) { fill(tape.write(kept), 7.0F); },
               .backward_slots = {},
               .backward = nullptr});
  tape.seal();
  tape.forward(queue);
  tape.backward(queue);
  EXPECT_TRUE(is_all(tape.read(kept), 7.0F));
}

TEST(Tape, ASharedTensorLiesWhereItsOwnerLies) {
  Queue queue(1);
  Arena arena;
  Tape tape(arena, Tape::Mode::kTraining);
  const Value x = tape.new_value({10});
  tape.share(x.gradient, x.data);
  tape.record({.forward_slots = {x.data},
               .forward = [&](Queue&) { fill(tape.write(x.data), 3.0F); },
               .backward_slots = {x.gradient},
               .backward = [&](Queue&) { EXPECT_TRUE(is_all(tape.read(x.gradient), 3.0F)); }});
  tape.seal();
  tape.forward(queue);
  tape.backward(queue);
  EXPECT_EQ(tape.planned_bytes(), 256);
}

TEST(Tape, EvaluationHasNoGradientsAndNoBackward) {
  Queue queue(1);
  Arena arena;
  Tape tape(arena, Tape::Mode::kEvaluation);
  const Value x = tape.new_value({10});
  EXPECT_FALSE(x.gradient.exists());
  EXPECT_FALSE(tape.use_gradient(x).exists());
  tape.record({.forward_slots = {x.data},
               .forward = [](Queue&) {},
               .backward_slots = {x.data},
               .backward = [](Queue&) { ADD_FAILURE() << "backward in evaluation"; }});
  tape.seal();
  tape.forward(queue);
  tape.backward(queue);
}

// Without backward, a layer's activations make room for the next layer's.
TEST(Tape, EvaluationOfADeepModelNeedsAFractionOfTraining) {
  ModelConfig config = small_model();
  config.n_layer = 12;
  const Transformer model(config, 23);
  Parameters parameters(model.parameter_specs());
  Arena arena;
  const ModelUse use{.mem_len = 6};
  const SegmentShape shape{.streams = 2, .tgt_len = 32, .memory_rows = use.mem_len};
  const auto evaluation = model.record(arena, Tape::Mode::kEvaluation, parameters, use, shape);
  const auto training = model.record(arena, Tape::Mode::kTraining, parameters, use, shape);
  EXPECT_GT(evaluation->tape.planned_bytes(), 0);
  EXPECT_LT(4 * evaluation->tape.planned_bytes(), training->tape.planned_bytes());
}

class TapeContract : public testing::Test {
 protected:
  Arena arena_;
  Tape tape_{arena_, Tape::Mode::kTraining};
};

TEST_F(TapeContract, NothingIsRecordedOnASealedTape) {
  tape_.seal();
  EXPECT_EQ(message_of<ContractError>([&] { tape_.new_slot({1}); }), "the tape is sealed");
  EXPECT_EQ(message_of<ContractError>([&] { tape_.record({}); }), "the tape is sealed");
  EXPECT_EQ(message_of<ContractError>([&] { tape_.seal(); }), "the tape is sealed");
}

TEST_F(TapeContract, OnlyBoundTensorsOfTheRightShapeAreBound) {
  const OwnedTensor tensor(DType::kFloat32, {2, 3});
  const Slot computed = tape_.new_slot({2, 3});
  EXPECT_EQ(message_of<ContractError>([&] { tape_.bind(computed, tensor.view()); }), "only bound tensors can be bound");
  const Slot other_shape = tape_.bound({3, 2}, DType::kFloat32);
  EXPECT_EQ(message_of<ContractError>([&] { tape_.bind(other_shape, tensor.view()); }),
            "bound tensor is float32 [2, 3], expected float32 [3, 2]");
  const Slot other_type = tape_.bound({2, 3}, DType::kInt32);
  EXPECT_EQ(message_of<ContractError>([&] { tape_.bind(other_type, tensor.view()); }),
            "bound tensor is float32 [2, 3], expected int32 [2, 3]");
}

// A replay with other addresses is another graph.
TEST_F(TapeContract, TellsWhereAllThatIsBoundLies) {
  const OwnedTensor one(DType::kFloat32, {2}), other(DType::kFloat32, {2});
  const Slot first = tape_.bound({2}, DType::kFloat32);
  tape_.new_slot({2});
  const Slot constant = tape_.constant(one, DType::kFloat32);
  const Slot last = tape_.bound({2}, DType::kFloat32);
  tape_.bind(first, one.view());
  const std::byte* const of_constant = tape_.read(constant).data;
  EXPECT_EQ(tape_.bound_addresses(), (std::vector<const std::byte*>{one.view().data, of_constant, nullptr}));
  tape_.bind(last, one.view());
  tape_.bind(first, other.view());
  EXPECT_EQ(tape_.bound_addresses(), (std::vector<const std::byte*>{other.view().data, of_constant, one.view().data}));
}

TEST_F(TapeContract, BoundTensorsAreReadOnly) {
  const Slot slot = tape_.bound({2}, DType::kFloat32);
  EXPECT_EQ(message_of<ContractError>([&] { tape_.write(slot); }), "a bound tensor is read only");
}

TEST_F(TapeContract, AnOperationTouchesWhatItDeclares) {
  const Slot declared = tape_.new_slot({2});
  const Slot other = tape_.new_slot({3});
  const auto touch_both = [&](Queue&) {
    tape_.write(declared);
    tape_.read(other);
  };
  tape_.record(
      {.name = "sum", .forward_slots = {declared}, .forward = touch_both, .backward_slots = {}, .backward = {}});
  tape_.keep(other);
  tape_.seal();
  Queue queue(1);
  for (int replay = 0; replay < 2; ++replay) {
    EXPECT_EQ(message_of<ContractError>([&] { tape_.forward(queue); }),
              "sum forward: touches a float32 [3] that it has not declared");
  }
  EXPECT_EQ(tape_.read(other).elements(), 3);  // outside of operations whoever kept it may
}

TEST_F(TapeContract, EachPassDeclaresForItself) {
  const Slot slot = tape_.new_slot({2});
  const auto touch = [&](Queue&) { tape_.write(slot); };
  tape_.record({.name = "sum",
                .forward_slots = {slot},
                .forward = touch,
                .backward_slots = {},
                .backward = touch,
                .detail = "2x2"});
  tape_.seal();
  Queue queue(1);
  tape_.forward(queue);
  EXPECT_EQ(message_of<ContractError>([&] { tape_.backward(queue); }),
            "sum 2x2 backward: touches a float32 [2] that it has not declared");
}

TEST_F(TapeContract, WhatSharesMemoryIsDeclaredByEither) {
  const Slot owner = tape_.new_slot({2});
  const Slot sharing = tape_.new_slot({2});
  tape_.share(sharing, owner);
  tape_.record({.forward_slots = {owner},
                .forward = [&](Queue&) { EXPECT_EQ(tape_.write(sharing).data, tape_.read(owner).data); },
                .backward_slots = {},
                .backward = {}});
  tape_.seal();
  Queue queue(1);
  tape_.forward(queue);
}

TEST_F(TapeContract, AGradientThatIsOverwrittenHasNoLaterUse) {
  const Value x = tape_.new_value({2, 3});
  tape_.use_gradient(x);
  EXPECT_FALSE(tape_.accumulates(tape_.overwrite_gradient(x)));
  const std::string expected = "the gradient of a float32 [2, 3] has a use after the one that overwrites it";
  EXPECT_EQ(message_of<ContractError>([&] { tape_.use_gradient(x); }), expected);
  EXPECT_EQ(message_of<ContractError>([&] { tape_.overwrite_gradient(x); }), expected);
}

TEST_F(TapeContract, GradientsAreWrittenThroughTheirUses) {
  const Value x = tape_.new_value({2});
  const GradientUse use = tape_.use_gradient(x);
  EXPECT_EQ(tape_.write(use).elements(), 2);
  EXPECT_EQ(message_of<ContractError>([&] { tape_.write(x.gradient); }), "a gradient is written through a use of it");
}

TEST_F(TapeContract, OnlyTensorsOfOneSizeShareMemory) {
  const Slot a = tape_.new_slot({2, 3});
  EXPECT_NO_THROW(tape_.share(tape_.new_slot({6}), a));
  for (const Slot other : {tape_.new_slot({7}), tape_.new_slot({6}, DType::kBFloat16)})
    EXPECT_EQ(message_of<ContractError>([&] { tape_.share(other, a); }), "only tensors of one size share memory");
}

}  // namespace
}  // namespace segue
