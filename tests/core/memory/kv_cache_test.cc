// Keys and values kept instead of hidden states: the same losses, whole segments or token by token, and the
// distribution of what follows.
#include "core/memory/kv_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

#include "core/head/next_token.h"
#include "tests/core/model/model_problem.h"
#include "tests/message_of.h"

namespace segue {
namespace {

constexpr int64_t kTgtLen = 6;  // patterns of the variants repeat in it
constexpr int64_t kStreams = 2;
constexpr double kSameNumber = 1e-5;  // of losses that differ by the order of sums alone

// A global stream would come between a cache and the segment.
std::vector<ModelVariant> that_have_a_cache(std::vector<ModelVariant> variants) {
  std::erase_if(variants, [](const ModelVariant& variant) { return variant.config().global_stream.tokens > 0; });
  return variants;
}

class KvCacheVariants : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, KvCacheVariants, testing::ValuesIn(that_have_a_cache(model_variants())), name_of_variant);

// Of models that say what comes next, whose tokens need nothing after them.
class NextTokenVariants : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, NextTokenVariants, testing::ValuesIn(next_token_variants()), name_of_variant);

struct FrozenProblem : ModelProblem {
  FrozenProblem(const ModelConfig& config, int64_t length)
      : ModelProblem(config, kStreams, length),
        reader(engine(Tape::Mode::kEvaluation)),
        states(make_memory(kStreams)),
        keys(make_frozen_memory(in_use(), kStreams, kTgtLen)) {}

  // Reads part [begin, begin + count) of every stream, with the KV cache.
  std::vector<float> read(int64_t begin, int64_t count) { return run(reader, begin, count, *keys); }

  SegmentEngine reader;
  std::unique_ptr<TrainingMemory> states;
  std::unique_ptr<FrozenMemory> keys;
};

void expect_same(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], kSameNumber) << i;
}

// Enough segments for rows to move back to the front several times.
TEST_P(KvCacheVariants, EqualsHiddenStatesOverSegments) {
  FrozenProblem problem(GetParam().config(), 14 * kTgtLen + 3);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen) {
      const std::vector<float> expected = problem.run(problem.reader, begin, kTgtLen, *problem.states);
      expect_same(problem.read(begin, kTgtLen), expected);
    }
    problem.states->reset();
    problem.keys->reset();
  }
}

TEST_P(KvCacheVariants, TakesTheBytesThatAreSaidBefore) {
  FrozenProblem problem(GetParam().config(), 14 * kTgtLen + 3);
  const ModelInUse in_use = problem.in_use();
  for (Memory* memory : std::initializer_list<Memory*>{problem.keys.get(), problem.states.get()}) {
    const UseBytes said =
        problem.reader.prepare(full_segment(in_use.model.config(), in_use.use, kStreams, kTgtLen, kTgtLen), *memory);
    EXPECT_EQ(said.weights, in_use.parameters.values().bytes());
    for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen)
      problem.run(problem.reader, begin, kTgtLen, *memory);
    EXPECT_EQ(in_use.arena.bytes(), said.activations);
    EXPECT_EQ(memory->bytes(), said.memory);
  }
}

TEST_P(NextTokenVariants, TokenByTokenEqualsWholeSegments) {
  FrozenProblem problem(GetParam().config(), 6 * kTgtLen);
  for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen) {
    const std::vector<float> expected = problem.run(problem.reader, begin, kTgtLen, *problem.states);
    const int64_t first = begin % (2 * kTgtLen) == 0 ? 1 : 3;  // tokens of the first part
    std::vector<float> found(expected.size());
    const auto place = [&](const std::vector<float>& part, int64_t from) {
      const int64_t count = std::ssize(part) / kStreams;
      for (int64_t b = 0; b < kStreams; ++b)
        std::copy_n(part.begin() + b * count, count, found.begin() + b * kTgtLen + from);
    };
    place(problem.read(begin, first), 0);
    for (int64_t i = first; i < kTgtLen; ++i) place(problem.read(begin + i, 1), i);
    expect_same(found, expected);
  }
}

TEST_P(NextTokenVariants, PredictionsAreTheLossesOfWhateverFollows) {
  FrozenProblem problem(GetParam().config(), 3 * kTgtLen);
  const NextToken next(problem.model.config(), ModelProblem::kVocabulary, problem.parameters);
  std::vector<float> log_probability(ModelProblem::kVocabulary);
  for (int64_t begin = 0; begin < problem.length(); begin += kTgtLen) {
    const std::vector<float> nll = problem.run(problem.reader, begin, kTgtLen, *problem.states);
    const OwnedTensor tokens = columns_of(problem.tokens, begin, kTgtLen);
    const auto logits = problem.reader.predict(tokens.view(), *problem.keys);
    for (int64_t b = 0; b < kStreams; ++b) {
      next.log_probabilities(logits, b, log_probability);
      const int32_t target = problem.targets.as<int32_t>()[b * problem.length() + begin + kTgtLen - 1];
      EXPECT_NEAR(-log_probability[static_cast<size_t>(target)], nll[static_cast<size_t>((b + 1) * kTgtLen - 1)],
                  kSameNumber);
      double total = 0.0;
      for (const float p : log_probability) total += std::exp(static_cast<double>(p));
      EXPECT_NEAR(total, 1.0, 1e-6);
    }
  }
}

TEST(KvCache, RefusesPartsBeyondTheEndOfTheirSegment) {
  FrozenProblem problem(small_model(), 3 * kTgtLen);
  problem.read(0, 3);
  EXPECT_EQ(message_of<ContractError>([&] { problem.read(3, 4); }), "a segment of 6 tokens goes on with 4 after 3");
}

// Keys that another operation of the tape made are seen whole, whatever a replay says of the cache or of spans.
TEST(KvCache, AloneHasTheRowsThatAReplaySays) {
  Arena arena;
  Tape tape(arena, Tape::Mode::kEvaluation);
  const OwnedTensor zeros(DType::kFloat32, {1, 1, 3});
  OwnedTensor rows(DType::kFloat32, {1, 3, 2});  // keys are 0, values 0, 1 and 4
  for (int i = 0; i < 3; ++i) rows.as<float>()[2 * i + 1] = static_cast<float>(i * i);
  const Value queries{.data = tape.constant(zeros, DType::kFloat32), .gradient = {}};
  const Value cache{.data = tape.constant(rows, DType::kFloat32), .gradient = {}};
  const Value made = copied_rows(tape, {cache, 0, 3});
  const auto schedules = std::make_shared<Schedules>();
  const auto attended_to = [&](const Value& keys, bool is_kv_cache) {
    const ScheduledLayer seen{.memory_alone = true, .heads = 1, .tgt_len = 1};
    const Slot output = relative_attention(tape, {.heads = {1, 1},
                                                  .qkv = queries,
                                                  .memory_kv = keys,
                                                  .is_kv_cache = is_kv_cache,
                                                  .r = {},
                                                  .u = {},
                                                  .w = {},
                                                  .tiles = std::make_shared<LayerTiles>(schedules, seen, 0),
                                                  .reach = {},
                                                  .ahead = {},
                                                  .dropatt = {}})
                            .data;
    tape.keep(output);
    return output;
  };
  const Slot of_cache = attended_to(cache, true), of_made = attended_to(made, false);
  tape.seal();
  tape.info().memory_rows = MemoryRows{.first = 2, .count = 1};
  tape.info().head_windows = {2};
  kernels::Queue queue(1);
  tape.forward(queue);
  EXPECT_FLOAT_EQ(tape.read(of_cache).as<float>()[0], 4.0F);
  EXPECT_FLOAT_EQ(tape.read(of_made).as<float>()[0], 5.0F / 3.0F);
}

}  // namespace
}  // namespace segue
