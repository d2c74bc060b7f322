// Segue's model in single precision against the oracle: the loss of every token, and the memory, over several segments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "core/config/position_kind.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

using kernels::expect_close;

class TransformerVariants : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, TransformerVariants, testing::ValuesIn(model_variants()), name_of_variant);

// Stream b of [B, count] losses.
std::vector<double> losses_of_stream(const std::vector<float>& nll, int64_t streams, int64_t b) {
  const auto count = static_cast<int64_t>(nll.size()) / streams;
  return {nll.begin() + b * count, nll.begin() + (b + 1) * count};
}

void expect_memory(const TrainingMemory& found, const std::vector<oracle::Memory>& expected) {
  std::vector<NamedTensor> state = found.state();
  // Rows of layers stand before the states of others; what is no layer's after both, or of all of them together.
  std::ranges::stable_sort(state, {}, [](const NamedTensor& tensor) {
    const size_t number = tensor.name.find_last_of('.');
    const bool is_no_layers = number == std::string::npos || tensor.name.starts_with("associations.") ||
                              tensor.name.starts_with("infini.") || tensor.name.starts_with("recurrent.");
    return is_no_layers ? std::numeric_limits<int>::max() : std::stoi(tensor.name.substr(number + 1));
  });
  size_t layer = 0, read = 0;  // a layer may have several tensors
  for (const NamedTensor& tensor : state) {
    const Shape& shape = tensor.tensor.shape;
    const bool says_by_extents = shape[2] == 0;  // how many rows are compressed
    const auto count =
        says_by_extents ? expected[0][layer].size() : static_cast<size_t>(shape.elements() / std::ssize(expected));
    std::vector<double> streams;
    for (const oracle::Memory& memory : expected) {
      ASSERT_LE(read + count, memory[layer].size()) << tensor.name;
      const auto first = memory[layer].begin() + static_cast<int64_t>(read);
      streams.insert(streams.end(), first, first + static_cast<int64_t>(count));
    }
    read += count;
    if (read == expected[0][layer].size()) ++layer, read = 0;
    if (says_by_extents)
      EXPECT_EQ(shape[0] * shape[1], std::ssize(streams)) << tensor.name;
    else
      expect_close(tensor.name, tensor.tensor, streams, kernels::kNetwork);
  }
}

TEST_P(TransformerVariants, EqualsOracleOverSegments) {
  const ModelConfig config = GetParam().config();
  constexpr int64_t kTgtLen = 7;
  ModelProblem problem(config, 2, 3 * kTgtLen + 4);  // the last segment is short
  const auto oracle = problem.oracle<double>();
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  std::vector<oracle::Memory> memories(problem.streams(), oracle::initial_memory(config));
  for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen) {
    const std::vector<float> nll = problem.run(engine, begin, kTgtLen, *memory);
    for (int64_t b = 0; b < problem.streams(); ++b) {
      const oracle::StreamTokens part = problem.stream_tokens(b).part(begin, kTgtLen);
      expect_close("nll", losses_of_stream(nll, problem.streams(), b),
                   oracle::segmented_nll(config, oracle, part, kTgtLen, memories[b]), kernels::kNetwork);
    }
    expect_memory(*memory, memories);
  }
}

// Scoring fewer tokens changes neither their losses nor the memory.
TEST_P(TransformerVariants, ScoresTheNewestTokensAlone) {
  ModelProblem problem(GetParam().config(), 2, 14);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  const std::unique_ptr<TrainingMemory> same = problem.make_memory(problem.streams());
  for (const int64_t begin : {0, 7}) {
    const std::vector<float> all = problem.run(engine, begin, 7, *memory);
    const std::vector<float> newest = problem.run(engine, begin, 7, *same, {}, 3);
    for (int64_t b = 0; b < 2; ++b) {
      const std::vector<double> expected = losses_of_stream(all, 2, b);
      expect_close("nll", losses_of_stream(newest, 2, b), {expected.end() - 3, expected.end()}, kernels::kElementwise);
    }
  }
  for (size_t i = 0; i < memory->state().size(); ++i)
    kernels::expect_identical("memory", same->state()[i].tensor, memory->state()[i].tensor);
}

// The same losses, and a memory no different, when the tape also goes backward.
TEST_P(TransformerVariants, TrainingRunsTheSameForward) {
  ModelProblem problem(GetParam().config(), 2, 14);
  std::vector<std::vector<float>> losses;
  std::vector<kernels::TestTensor> memories;
  for (const Tape::Mode mode : {Tape::Mode::kEvaluation, Tape::Mode::kTraining}) {
    SegmentEngine engine = problem.engine(mode);
    const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
    problem.run(engine, 0, 7, *memory);
    losses.push_back(problem.run(engine, 7, 7, *memory));
    memories.push_back(kernels::copy_of(memory->state().back().tensor));
  }
  EXPECT_EQ(losses[0], losses[1]);
  kernels::expect_identical("memory", memories[0].view(), memories[1].view());
}

// Gradients that backward reports as complete do not change afterwards; and it reports them layer by layer.
TEST_P(TransformerVariants, GradientsToldCompleteStayAsTheyAre) {
  ModelProblem problem(GetParam().config(), 2, 7);
  const TensorView gradients = problem.parameters.gradients();
  struct Told {
    int64_t open;  // elements
    kernels::TestTensor gradients;
  };
  std::vector<Told> told;
  const auto progress = [&](const std::byte* open_end) {
    const int64_t open = open_end == nullptr ? 0 : (open_end - gradients.data) / bytes_of(gradients.dtype);
    told.push_back({open, kernels::copy_of(gradients)});
  };
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  engine.queue({.tokens = problem.tokens.view(), .targets = problem.targets.view(), .info = {}}, *memory, progress);
  for (const Told& at : told) {
    const int64_t complete = gradients.elements() - at.open;
    kernels::expect_identical("complete gradients", at.gradients.view().rows(at.open, complete),
                              gradients.rows(at.open, complete));
  }
  ASSERT_GT(std::ssize(told), GetParam().config().n_layer);
  EXPECT_EQ(told.back().open, 0);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end(), [](const Told& a, const Told& b) { return a.open > b.open; }));
}

// Every site where dropout acts, and the number of every element there.
TEST_P(TransformerVariants, DropoutEqualsOracle) {
  ModelConfig config = GetParam().config();
  config.dropout = 0.3;
  config.dropatt = 0.2;
  constexpr int64_t kTgtLen = 7;
  ModelProblem problem(config, 2, 2 * kTgtLen);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(problem.streams());
  std::vector<oracle::Memory> memories(problem.streams(), oracle::initial_memory(config));
  for (uint64_t step = 1; step <= 2; ++step) {
    const ReplayInfo info{.seed = 99, .step = step, .first_stream = 5};
    const int64_t begin = static_cast<int64_t>(step - 1) * kTgtLen;
    const std::vector<float> nll = problem.run(engine, begin, kTgtLen, *memory, info);
    for (int64_t b = 0; b < problem.streams(); ++b) {
      const auto oracle =
          problem.oracle<double>(oracle::StreamRandom{.seed = info.seed, .step = step, .stream = 5 + b});
      const oracle::StreamTokens part = problem.stream_tokens(b).part(begin, kTgtLen);
      expect_close("nll", losses_of_stream(nll, problem.streams(), b),
                   oracle::segmented_nll(config, oracle, part, kTgtLen, memories[b]), kernels::kNetwork);
    }
    expect_memory(*memory, memories);
  }
}

TEST(Transformer, EvaluationDropsNothing) {
  ModelConfig config = small_model();
  ModelProblem without(config, 1, 7);
  config.dropout = config.dropatt = 0.5;
  ModelProblem with(config, 1, 7);
  SegmentEngine engine_without = without.engine(Tape::Mode::kEvaluation);
  SegmentEngine engine_with = with.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory_without = without.make_memory(1);
  const std::unique_ptr<TrainingMemory> memory_with = with.make_memory(1);
  EXPECT_EQ(without.run(engine_without, 0, 7, *memory_without), with.run(engine_with, 0, 7, *memory_with));
}

// A model used like another is that other one, as far as its weights are the same, and not the one that was trained.
void expect_used_like(const ModelConfig& other, const ModelConfig& trained) {
  ModelProblem problem(trained, 2, 21);
  ModelProblem expected(other, 2, 21);
  SegmentEngine as_trained = problem.engine(Tape::Mode::kEvaluation);
  const ModelInUse in_use{problem.model, use_of(other), problem.parameters, problem.arena, problem.queue};
  SegmentEngine otherwise(in_use, Tape::Mode::kEvaluation);
  const std::unique_ptr<Memory> frozen = make_frozen_memory(in_use, 2, 7);
  SegmentEngine of_expected = expected.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  const std::unique_ptr<TrainingMemory> long_memory = problem.make_memory(use_of(other), 2);
  const std::unique_ptr<TrainingMemory> expected_memory = expected.make_memory(2);
  for (int64_t begin = 0; begin < 21; begin += 7) {
    const std::vector<float> found = problem.run(otherwise, begin, 7, *long_memory);
    EXPECT_EQ(found, expected.run(of_expected, begin, 7, *expected_memory));
    EXPECT_THAT(problem.run(otherwise, begin, 7, *frozen), testing::Pointwise(testing::FloatNear(1e-5F), found));
    EXPECT_NE(found, problem.run(as_trained, begin, 7, *memory));
  }
}

// Lengths of memory, clamped distances, windows and turns come with the recording: one model serves them all.
TEST(Transformer, OneModelServesEveryUse) {
  ModelConfig other = model_variant("untie_r").config();
  other.mem_len = 9;
  other.position.clamp_len = 5;
  other.visibility.same_length = true;
  other.memory.initial = InitialMemory::kZeros;
  expect_used_like(other, model_variant("untie_r").config());
}

TEST(Transformer, RotaryPositionsAreScaledInUse) {
  const ModelConfig trained = model_variant("position_rope").config();
  ModelConfig other = trained;
  other.position.rotary_scaling = 4.0;
  expect_used_like(other, trained);
  other.position = {.kind = PositionKind::kRope, .rotary_base = 500.0, .rotary_share = 0.8};
  expect_used_like(other, trained);
}

// While the memory grows every length has its tape; at full length they are replayed.
TEST(Transformer, OneTapePerShape) {
  ModelProblem problem(small_model(), 2, 40);  // mem_len 6
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  for (int64_t begin = 0; begin < 40; begin += 4) problem.run(engine, begin, 4, *memory);
  EXPECT_EQ(engine.tapes(), 3);  // memory of 0, 4 and 6
}

// Otherwise a window of no keys would count as no window at all.
TEST(Transformer, SameLengthWithoutAnyKeyIsRefused) {
  ModelConfig config = small_model();
  config.mem_len = 0;
  config.visibility.same_length = true;
  ModelProblem problem(config, 1, 3);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
  EXPECT_THROW(problem.run(engine, 0, 3, *memory), ConfigError);
}

TEST(Transformer, WrongShapesOfMemoryAreRefused) {
  ModelProblem problem(small_model(), 2, 7);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(3);
  EXPECT_THROW(problem.run(engine, 0, 7, *memory), ContractError);
}

TEST(Transformer, TokensOutsideTheVocabularyAreRefused) {
  ModelProblem problem(small_model(), 1, 3);
  problem.tokens.as<int32_t>()[1] = ModelProblem::kVocabulary;
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
  EXPECT_THROW(problem.run(engine, 0, 3, *memory), ContractError);
}

// The loss of the last of eight tokens, in two segments, with the others in this order or the other way around.
double last_loss(const PositionConfig& position, bool reversed) {
  ModelConfig config = small_model();
  config.n_layer = 1;
  config.position = position;
  ModelProblem problem(config, 1, 8);
  auto* tokens = problem.tokens.as<int32_t>();
  if (reversed) std::reverse(tokens, tokens + 7);
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
  problem.run(engine, 0, 4, *memory);
  return problem.run(engine, 4, 4, *memory).back();
}

// The update of a token by one layer is a function of the set of tokens it sees, memory and segment alike.
TEST(NoPositions, OneLayerDoesNotKnowTheOrderOfTokens) {
  using enum PositionKind;
  EXPECT_NEAR(last_loss({.kind = kNone}, true), last_loss({.kind = kNone}, false), 1e-5);
  for (const PositionConfig& position : {PositionConfig{.kind = kRelative},
                                         {.kind = kSinusoidal},
                                         {.kind = kRope, .rotary_share = 0.8},
                                         {.kind = kDistanceAware}})
    EXPECT_GT(std::abs(last_loss(position, true) - last_loss(position, false)), 1e-3) << name_of_choice(position.kind);
}

// Losses of three segments, and the gradients of all of them, in a stream that begins at this position.
struct FromPosition {
  std::vector<double> losses, gradients;
};
FromPosition train_from(int64_t position) {
  ModelProblem problem(model_variant("position_rope").config(), 2, 21);
  SegmentEngine engine = problem.engine(Tape::Mode::kTraining);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(2);
  problem.parameters.clear_gradients(problem.queue);
  FromPosition found;
  for (int64_t begin = 0; begin < 21; begin += 7) {
    const auto nll = problem.run(engine, begin, 7, *memory, {.first_position = position + begin});
    found.losses.insert(found.losses.end(), nll.begin(), nll.end());
  }
  found.gradients = kernels::oracle_values(problem.parameters.gradients());
  return found;
}

TEST(RopePositions, DistancesAloneMatter) {
  const FromPosition expected = train_from(0);
  for (const int64_t position : {int64_t{1000}, int64_t{1} << 30}) {
    const FromPosition found = train_from(position);
    for (size_t i = 0; i < expected.losses.size(); ++i)
      EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5) << position;
    expect_close("gradients", found.gradients, expected.gradients, kernels::kNetworkGradient);
  }
}

// What becomes of an element of the weight of this name; `drawn` is the small model's, or 0 where it has no such
// weight.
using Weight = std::function<float(const std::string& name, int64_t element, float drawn)>;

void set_weights(ModelProblem& problem, ModelProblem& source, const Weight& weight) {
  for (size_t i = 0; i < problem.parameters.specs().size(); ++i) {
    const ParameterSpec& spec = problem.parameters.specs()[i];
    OwnedTensor values(DType::kFloat32, spec.shape);
    for (size_t j = 0; j < source.parameters.specs().size(); ++j) {
      if (source.parameters.specs()[j].name != spec.name) continue;
      const ConstTensorView drawn = source.parameters.part_of(source.parameters.values(), j);
      std::copy_n(drawn.as<float>(), spec.shape.elements(), values.as<float>());
    }
    for (int64_t e = 0; e < spec.shape.elements(); ++e)
      values.as<float>()[e] = weight(spec.name, e, values.as<float>()[e]);
    problem.parameters.upload(problem.parameters.values(), i, values.view());
  }
  problem.parameters.refresh_compute_copy();
}

// The losses of 14 tokens in two segments, of a small model of so many layers with these positions and weights.
std::vector<float> losses_with(const PositionConfig& position, const Weight& weight, int64_t mem_len,
                               int64_t layers = 2) {
  ModelConfig config = small_model();
  config.n_layer = layers;
  ModelProblem source(config, 2, 14);
  config.position = position;
  ModelProblem problem(config, 2, 14);
  set_weights(problem, source, weight);
  ModelUse use = use_of(config);
  use.mem_len = mem_len;
  SegmentEngine engine({problem.model, use, problem.parameters, problem.arena, problem.queue}, Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(use, 2);
  std::vector<float> losses = problem.run(engine, 0, 7, *memory);
  const std::vector<float> later = problem.run(engine, 7, 7, *memory);
  losses.insert(losses.end(), later.begin(), later.end());
  return losses;
}

float as_drawn(const std::string& /*name*/, int64_t /*element*/, float drawn) { return drawn; }

// Beyond the lengths of training too: the memory holds 6 tokens there.
TEST(BiasesByDistance, AT5TableOfAlibisSlopesIsAlibiToTheBit) {
  const PositionConfig exact{.kind = PositionKind::kT5, .t5_buckets = 64, .t5_max_distance = 128};
  const auto slopes = [](const std::string& name, int64_t element, float drawn) {
    constexpr std::array<float, 3> kOfThreeHeads{1.0F / 16.0F, 1.0F / 256.0F, 1.0F / 4.0F};
    if (name != "attention.buckets") return drawn;
    return -kOfThreeHeads[static_cast<size_t>(element % 3)] * static_cast<float>(element / 3);
  };
  for (const int64_t mem_len : {0, 6, 20}) {
    const std::vector<float> alibi = losses_with({.kind = PositionKind::kAlibi}, as_drawn, mem_len);
    EXPECT_EQ(alibi, losses_with(exact, slopes, mem_len));
    EXPECT_NE(alibi, losses_with({.kind = PositionKind::kNone}, as_drawn, mem_len));
  }
}

TEST(BiasesByDistance, AT5TableOfZerosIsNoPositionsToTheBit) {
  for (const int64_t mem_len : {0, 6, 20})
    EXPECT_EQ(losses_with({.kind = PositionKind::kT5}, as_drawn, mem_len),
              losses_with({.kind = PositionKind::kNone}, as_drawn, mem_len));
}

// The r1 and r2 of every head of a small model, as their logarithms.
struct LogFactors {
  std::array<float, 3> r1, r2;
};

std::vector<float> losses_of_kerple(const LogFactors& log, int64_t mem_len) {
  const auto factors = [&](const std::string& name, int64_t element, float drawn) {
    if (name == "attention.log_r1") return log.r1[static_cast<size_t>(element)];
    return name == "attention.log_r2" ? log.r2[static_cast<size_t>(element)] : drawn;
  };
  return losses_with({.kind = PositionKind::kKerple}, factors, mem_len);
}

TEST(Kerple, IsNoPositionsToTheBitWhereEitherFactorVanishes) {
  constexpr std::array<float, 3> kVanishing{-1e4F, -2e4F, -1e6F}, kOther{-3.0F, 0.5F, 40.0F};
  for (const int64_t mem_len : {0, 6, 20}) {
    const std::vector<float> none = losses_with({.kind = PositionKind::kNone}, as_drawn, mem_len);
    EXPECT_EQ(losses_of_kerple({.r1 = kVanishing, .r2 = kOther}, mem_len), none);
    EXPECT_EQ(losses_of_kerple({.r1 = kOther, .r2 = kVanishing}, mem_len), none);
    EXPECT_NE(losses_of_kerple({.r1 = kOther, .r2 = kOther}, mem_len), none);
  }
}

TEST(Kerple, IsAT5TableOfItsCurvesToTheBit) {
  constexpr LogFactors kLog{.r1 = {-0.5F, 0.0F, 1.2F}, .r2 = {2.0F, -1.5F, 0.3F}};
  const PositionConfig exact{.kind = PositionKind::kT5, .t5_buckets = 64, .t5_max_distance = 128};
  const auto curves = [&](const std::string& name, int64_t element, float drawn) {
    if (name != "attention.buckets") return drawn;
    const auto head = static_cast<size_t>(element % 3);
    const double r1 = std::exp(static_cast<double>(kLog.r1[head])), r2 = std::exp(static_cast<double>(kLog.r2[head]));
    return static_cast<float>(-r1 * std::log1p(r2 * static_cast<double>(element / 3)));
  };
  for (const int64_t mem_len : {0, 6, 20})
    EXPECT_EQ(losses_of_kerple(kLog, mem_len), losses_with(exact, curves, mem_len));
}

// Where r2 is small and r1 r2 a slope, the logarithm is a line.
TEST(Kerple, IsAlibiInTheLimit) {
  const float log_2 = std::log(2.0F);
  const LogFactors lines{.r1 = {20.0F * log_2, 16.0F * log_2, 22.0F * log_2},
                         .r2 = {-24.0F * log_2, -24.0F * log_2, -24.0F * log_2}};
  for (const int64_t mem_len : {0, 6, 20}) {
    const std::vector<float> alibi = losses_with({.kind = PositionKind::kAlibi}, as_drawn, mem_len);
    const std::vector<float> limit = losses_of_kerple(lines, mem_len);
    for (size_t i = 0; i < alibi.size(); ++i) EXPECT_NEAR(limit[i], alibi[i], 1e-5) << i;
  }
}

// The losses of a distance-aware model whose heads all have this curve.
std::vector<float> losses_of_curve(float alpha, float beta, int64_t mem_len) {
  const auto curve = [=](const std::string& name, int64_t /*element*/, float drawn) {
    if (name.ends_with(".alpha")) return alpha;
    return name.ends_with(".beta") ? beta : drawn;
  };
  return losses_with({.kind = PositionKind::kDistanceAware}, curve, mem_len);
}

TEST(DistanceAware, WithoutSlopeOrWithADropLongPastDistancesDoNotMatter) {
  for (const int64_t mem_len : {0, 6, 20}) {
    const std::vector<float> rectified = losses_of_curve(0.0F, 0.0F, mem_len);
    for (const float beta : {-2.0F, 1.0F, 200.0F}) EXPECT_EQ(losses_of_curve(0.0F, beta, mem_len), rectified) << beta;
    for (const float beta : {-200.0F, -1e6F}) EXPECT_EQ(losses_of_curve(0.3F, beta, mem_len), rectified) << beta;
    for (const float alpha : {-0.3F, 0.3F}) EXPECT_NE(losses_of_curve(alpha, 0.0F, mem_len), rectified) << alpha;
    EXPECT_NE(losses_with({.kind = PositionKind::kNone}, as_drawn, mem_len), rectified) << "no score below zero";
  }
}

// One layer whose embeddings, queries and keys have no negative element, nor has a product of them.
TEST(DistanceAware, WithoutSlopeIsNoPositionsToTheBitWhereNoScoreIsBelowZero) {
  const auto above_zero = [](const std::string& name, int64_t /*element*/, float drawn) {
    const bool makes_scores = name.starts_with("embedding.") || name.ends_with(".attention.qkv");
    return makes_scores ? std::abs(drawn) : drawn;
  };
  for (const int64_t mem_len : {0, 6, 20})
    EXPECT_EQ(losses_with({.kind = PositionKind::kDistanceAware}, above_zero, mem_len, 1),
              losses_with({.kind = PositionKind::kNone}, above_zero, mem_len, 1));
}

}  // namespace
}  // namespace segue
