// Memories through which gradients pass from segment to segment: steps of several; and what makes memory tokens what
// they are.
#include <gtest/gtest.h>

#include "core/config/memory_kind.h"
#include "core/config/position_kind.h"
#include "tests/core/model/model_problem.h"
#include "tests/oracle/kinds_of_memory.h"

namespace segue {
namespace {

constexpr int64_t kTgtLen = 4;

std::vector<ModelVariant> token_variants() {
  std::vector<ModelVariant> variants = memory_variants(), reversible = reversible_variants();
  variants.insert(variants.end(), reversible.begin(), reversible.end());
  std::erase_if(variants, [](const ModelVariant& variant) {
    const ModelConfig config = variant.config();
    return memory_tokens(config) == 0 && !has_infini_memory(config) && !is_recurrent(config);
  });
  variants.push_back({"t5_and_longer_memory", [](ModelConfig& m) {
                        m.memory = {.kind = MemoryKind::kTokens, .tokens = 2};
                        m.position.kind = PositionKind::kT5;
                        m.mem_len = 23;
                      }});
  return variants;
}

// As a run of training does: a step of `segments` segments, whose last may be short, at a time.
struct StepProblem : ModelProblem {
  StepProblem(const ModelConfig& config, int64_t length) : ModelProblem(config, 2, length) {}

  std::vector<float> step(SegmentEngine& engine, int64_t begin, int64_t count, Memory& memory,
                          const ReplayInfo& info = {}) const {
    const OwnedTensor inputs = columns_of(tokens, begin, count);
    const OwnedTensor outputs = columns_of(targets, begin, count);
    const SegmentInputs all{
        .tokens = inputs.view(), .targets = outputs.view(), .info = info, .segment_length = kTgtLen};
    const auto nll = engine.run(all, memory).nll;
    return {nll.begin(), nll.end()};
  }
};

class StepsOfSegments : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, StepsOfSegments, testing::ValuesIn(token_variants()), name_of_variant);

// Forward, a step is its segments one after another, whatever was remembered before; and so is what it leaves behind,
// to the bit. The products of the head, of all tokens at once, may be summed up in another order than those of fewer.
void expect_step_of_its_segments(const ModelConfig& config) {
  constexpr int64_t kLength = 11 * kTgtLen + 3;
  StepProblem problem(config, kLength);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  const std::unique_ptr<TrainingMemory> same = problem.make_memory(2);
  for (int64_t begin = 0; begin < kLength; begin += 3 * kTgtLen) {
    const int64_t count = std::min(3 * kTgtLen, kLength - begin);
    const std::vector<float> nll = problem.step(engine, begin, count, *memory);
    for (int64_t first = begin; first < begin + count; first += kTgtLen) {
      const std::vector<float> expected = problem.run(engine, first, kTgtLen, *same);
      const auto length = std::ssize(expected) / 2;
      for (int64_t b = 0; b < 2; ++b)
        for (int64_t t = 0; t < length; ++t)
          EXPECT_FLOAT_EQ(nll[b * count + first - begin + t], expected[b * length + t])
              << first << ", " << b << ", " << t;
    }
    for (size_t i = 0; i < memory->state().size(); ++i)
      kernels::expect_identical("memory", memory->state()[i].tensor, same->state()[i].tensor);
  }
}

TEST_P(StepsOfSegments, EqualTheirSegments) { expect_step_of_its_segments(GetParam().config()); }

// Keys that a layer turns where they lie are remembered as they were; a memory that is longer than a segment, from the
// first step on, which nothing was remembered before.
TEST(StepsOfSegmentsBesideStates, EqualTheirSegmentsWhereKeysTurn) {
  for (const int64_t mem_len : {kTgtLen - 1, kTgtLen, 2 * kTgtLen, 5 * kTgtLen}) {
    SCOPED_TRACE(mem_len);
    ModelConfig config = model_variant("state_above_keys_values_pre_norm").config();
    config.position = {.kind = PositionKind::kRope, .rotary_share = 0.8};
    config.mem_len = mem_len;
    expect_step_of_its_segments(config);
  }
}

// The loss of a step of four segments, the last of them short, as a function of the weights, for complex steps.
class StepLoss {
 public:
  static constexpr int64_t kTokens = 4 * kTgtLen - 1;

  // `before` tokens come first, which give the memory.
  StepLoss(StepProblem& problem, int64_t before, const std::vector<std::optional<oracle::StreamRandom>>& random)
      : config_(problem.model.config()) {
    for (int64_t b = 0; b < 2; ++b) {
      oracle::Memory memory = oracle::initial_memory(config_);
      const oracle::StreamTokens tokens = problem.stream_tokens(b);
      oracle::segmented_nll(config_, problem.oracle<double>(), tokens.part(0, before), kTgtLen, memory);
      streams_.push_back({problem.oracle<Complex>(random[b]), tokens.part(before, kTokens), std::move(memory)});
    }
  }

  std::vector<double> gradient(const std::string& name) {
    const std::vector<Complex>& values = streams_[0].oracle.weight(name);
    std::vector<double> point;
    for (const Complex& value : values) point.push_back(value.real());
    const std::vector<double> gradient =
        kernels::complex_step_gradient(point, [&](const kernels::ComplexVector& at) { return mean_at(name, at); });
    mean_at(name, kernels::ComplexVector(point.begin(), point.end()));
    return gradient;
  }

 private:
  using Complex = std::complex<double>;
  struct OneStream {
    oracle::TransformerXl<Complex> oracle;
    oracle::StreamTokens tokens;
    oracle::Memory memory;
  };

  Complex mean_at(const std::string& name, const kernels::ComplexVector& values) {
    Complex total = 0.0;
    for (OneStream& each : streams_) {
      each.oracle.weight(name) = values;
      oracle::Memory memory = each.memory;
      std::vector<Complex> read(memory.back().begin(), memory.back().end());
      for (int64_t first = 0; first < kTokens; first += kTgtLen) {
        const oracle::StreamTokens part = each.tokens.part(first, kTgtLen);
        const oracle::PlaceInStep place{.number = first / kTgtLen, .first = first, .tokens = kTokens};
        const auto segment = each.oracle.segment(part.tokens, part.targets, memory, masks_, 0, read, place);
        for (const Complex& loss : segment.nll) total += loss;
        read = segment.written;
        // Of what layers remember, the values alone.
        oracle::TransformerXl<double>::Segment real;
        for (const std::vector<Complex>& rows : segment.fresh) {
          real.fresh.emplace_back();
          for (const Complex& element : rows) real.fresh.back().push_back(element.real());
        }
        oracle::update_memory(config_, real, memory);
      }
    }
    return total / static_cast<double>(2 * kTokens);
  }

  ModelConfig config_;
  std::vector<oracle::Visibility> masks_ = oracle::segment_masks(config_);
  std::vector<OneStream> streams_;
};

ModelConfig tiny(const ModelVariant& variant) {
  ModelConfig config = variant.config();
  config.n_head = 2;
  config.d_model = 8;
  config.d_inner = 7;
  if (config.position.kind != PositionKind::kRope && !associates(config)) config.d_head = 3;
  return config;
}

void expect_gradients_of_step(const ModelConfig& config, int64_t before) {
  StepProblem problem(config, before + StepLoss::kTokens);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  SegmentEngine reader = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  for (int64_t begin = 0; begin < before; begin += kTgtLen) problem.run(reader, begin, kTgtLen, *memory);
  problem.parameters.clear_gradients(problem.queue);
  problem.step(engine, before, StepLoss::kTokens, *memory,
               {.seed = 3, .step = 8, .first_stream = 4, .loss_scale = 1.0F / (2.0F * StepLoss::kTokens)});
  StepLoss loss(problem, before, {oracle::StreamRandom{3, 8, 4}, oracle::StreamRandom{3, 8, 5}});
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const std::string& name = problem.parameters.specs()[i].name;
    kernels::expect_close(name, problem.parameters.part_of(problem.parameters.gradients(), i), loss.gradient(name),
                          gradient_tolerance(config));
  }
}

TEST_P(StepsOfSegments, GradientsEqualComplexStepsThroughFourSegments) {
  ModelConfig config = tiny(GetParam());
  config.dropout = 0.25;
  config.dropatt = 0.2;
  expect_gradients_of_step(config, 2 * kTgtLen);
}

TEST_P(StepsOfSegments, GradientsReachWhatStreamsBeginWith) { expect_gradients_of_step(tiny(GetParam()), 0); }

std::vector<ModelVariant> state_variants_alone() {
  std::vector<ModelVariant> variants = state_variants();
  std::erase_if(variants, [](const ModelVariant& variant) {
    const ModelConfig config = variant.config();
    return config.mem_len > 0 || state_layers(config) < config.n_layer;
  });
  return variants;
}

class StatesOfSegments : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, StatesOfSegments, testing::ValuesIn(state_variants_alone()), name_of_variant);

// Where states are all that goes from segment to segment, a step of four, the last of them short, is as one of all its
// tokens, whose gradients gradient_test compares with the formulas: they pass through states, whatever turns these.
TEST_P(StatesOfSegments, GradientsOfAStepAreThoseOfOneSegment) {
  StepProblem problem(GetParam().config(), 2 * kTgtLen + StepLoss::kTokens);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const ReplayInfo info{.loss_scale = 1.0F / (2.0F * StepLoss::kTokens)};
  const auto gradients = [&](const auto& run) {
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
    problem.step(engine, 0, 2 * kTgtLen, *memory);
    problem.parameters.clear_gradients(problem.queue);
    run(*memory);
    std::vector<std::vector<double>> found;
    for (size_t i = 0; i < problem.parameters.specs().size(); ++i)
      found.push_back(kernels::oracle_values(problem.parameters.part_of(problem.parameters.gradients(), i)));
    return found;
  };
  const auto by_segments =
      gradients([&](Memory& memory) { problem.step(engine, 2 * kTgtLen, StepLoss::kTokens, memory, info); });
  const auto at_once =
      gradients([&](Memory& memory) { problem.run(engine, 2 * kTgtLen, StepLoss::kTokens, memory, info); });
  for (size_t i = 0; i < by_segments.size(); ++i) {
    const std::string& name = problem.parameters.specs()[i].name;
    EXPECT_EQ(kernels::largest(at_once[i]) > 0.0, !name.ends_with("directions")) << name;  // those are not learned
    kernels::expect_close(name, by_segments[i], at_once[i], kernels::kStateGradient);
  }
}

// What a step of one segment wrote is a constant of the next.
TEST(MemoryTokens, GradientsOfWritingStopAtTheStep) {
  ModelConfig config = model_variant("memory_tokens_of_their_own_alone").config();
  StepProblem problem(config, 6 * kTgtLen);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const auto written = [&] {
    for (size_t i = 0; i < problem.parameters.specs().size(); ++i)
      if (problem.parameters.specs()[i].name == "memory.written")
        return kernels::largest(kernels::oracle_values(problem.parameters.part_of(problem.parameters.gradients(), i)));
    return -1.0;
  };
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  for (int64_t begin = 0; begin < 2 * kTgtLen; begin += kTgtLen) problem.step(engine, begin, kTgtLen, *memory);
  EXPECT_EQ(written(), 0.0);
  problem.step(engine, 2 * kTgtLen, 2 * kTgtLen, *memory);
  EXPECT_GT(written(), 0.0);
}

// Without a memory token the model is the one without the kind, to the bit.
TEST(MemoryTokens, NoneOfThemIsTheModelWithoutTheKind) {
  const ModelConfig base = small_model();
  ModelConfig none = base;
  none.memory = {.kind = MemoryKind::kTokens, .tokens = 0};
  StepProblem problems[2]{{base, 5 * kTgtLen}, {none, 5 * kTgtLen}};
  std::vector<float> losses[2];
  for (int i = 0; i < 2; ++i) {
    SegmentEngine engine = problems[i].engine(Tape::Mode::kTraining);
    const std::unique_ptr<TrainingMemory> memory = problems[i].make_memory(2);
    for (int64_t begin = 0; begin < 5 * kTgtLen; begin += kTgtLen)
      for (const float loss : problems[i].run(engine, begin, kTgtLen, *memory, {.seed = 1})) losses[i].push_back(loss);
  }
  EXPECT_EQ(losses[0], losses[1]);
  kernels::expect_identical("gradients", problems[0].parameters.gradients(), problems[1].parameters.gradients());
}

// A segment's own tokens do not see what is written after them; and each reads all that was written before it.
TEST_P(StepsOfSegments, HandOnWhatTheFirstTokenSaysAndNothingAhead) {
  StepProblem problem(GetParam().config(), 6 * kTgtLen);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const auto losses = [&] {
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
    return problem.step(engine, 0, problem.length(), *memory);
  };
  const std::vector<float> before = losses();
  for (const int64_t changed : {int64_t{0}, kTgtLen + 1}) {
    int32_t& token = problem.tokens.as<int32_t>()[changed];  // of stream 0
    const int32_t original = std::exchange(token, (token + 5) % static_cast<int32_t>(ModelProblem::kVocabulary));
    const std::vector<float> after = losses();
    for (int64_t t = 0; t < problem.length(); ++t)
      EXPECT_EQ(after[t] != before[t], t >= changed) << changed << ", " << t;
    EXPECT_TRUE(std::equal(before.begin() + problem.length(), before.end(), after.begin() + problem.length()));
    token = original;
  }
}

TEST(MemoryTokens, RefuseAStateOfAnotherSize) {
  const ModelConfig config = model_variant("memory_tokens").config();
  ModelProblem problem(config, 2, kTgtLen);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  std::vector<ConstTensorView> state;
  for (const NamedTensor& each : memory->state()) state.push_back(each.tensor);
  const OwnedTensor other(DType::kFloat32, {2, 4, config.d_model});
  state.back() = other.view();
  EXPECT_THROW(memory->restore(state), CheckpointError);
  state.back() = other.view().rows(0, 1);
  EXPECT_THROW(memory->restore(state), CheckpointError);
}

}  // namespace
}  // namespace segue
