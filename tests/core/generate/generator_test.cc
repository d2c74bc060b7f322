// A generator's predictions token by token against one dense pass over the text it wrote; words' surprisal.
#include "core/generate/generator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/generate/sampler.h"
#include "core/generate/surprisal.h"
#include "tests/core/model/model_problem.h"

namespace segue {
namespace {

constexpr int64_t kTgtLen = 6;  // patterns of the variants repeat in it
constexpr int64_t kSamples = 2;
constexpr double kSameNumber = 1e-5;

class GeneratorVariants : public testing::TestWithParam<ModelVariant> {};
INSTANTIATE_TEST_SUITE_P(All, GeneratorVariants, testing::ValuesIn(next_token_variants()), name_of_variant);

// A prompt, what each sample adds to it, and how probable each added token was said to be.
struct Written {
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::vector<float>> nll;
};

Written write(ModelProblem& problem, int64_t prompt, int64_t added) {
  Generator generator(problem.in_use(), kSamples, kTgtLen);
  Sampler sampler({.temperature = 1.2, .seed = 9});
  const std::vector<int32_t> begin(problem.tokens.as<int32_t>(), problem.tokens.as<int32_t>() + prompt);
  Written written{.tokens = std::vector(kSamples, begin), .nll = std::vector<std::vector<float>>(kSamples)};
  generator.read(begin);
  for (int64_t position = 0; position < added; ++position) {
    std::vector<int32_t> chosen;
    for (int64_t b = 0; b < kSamples; ++b) {
      const std::span<const float> log_p = generator.next(b);
      chosen.push_back(sampler.choose(log_p, b, position));
      written.tokens[static_cast<size_t>(b)].push_back(chosen.back());
      written.nll[static_cast<size_t>(b)].push_back(-log_p[static_cast<size_t>(chosen.back())]);
    }
    generator.read_each(chosen);
  }
  return written;
}

// Segment after segment over hidden states, as an evaluation reads.
std::vector<float> dense_losses(ModelProblem& problem, const std::vector<int32_t>& tokens) {
  SegmentEngine engine = problem.engine(Tape::Mode::kEvaluation);
  const std::unique_ptr<TrainingMemory> memory = problem.make_memory(1);
  std::vector<float> losses;
  for (int64_t begin = 0; begin + 1 < std::ssize(tokens); begin += kTgtLen) {
    const Shape shape{1, std::min(kTgtLen, std::ssize(tokens) - 1 - begin)};
    const auto nll = engine
                         .run({.tokens = view_of(tokens.data() + begin, shape),
                               .targets = view_of(tokens.data() + begin + 1, shape),
                               .info = {}},
                              *memory)
                         .nll;
    losses.insert(losses.end(), nll.begin(), nll.end());
  }
  return losses;
}

// Prompts that end inside a segment, at its end and after one token; text over several segments.
TEST_P(GeneratorVariants, EqualsOneDensePassOverWhatItWrote) {
  ModelProblem problem(GetParam().config(), 1, 3 * kTgtLen);
  for (const int64_t prompt : {int64_t{1}, 2 * kTgtLen, 2 * kTgtLen + 3}) {
    const Written written = write(problem, prompt, 4 * kTgtLen + 2);
    EXPECT_NE(written.tokens[0], written.tokens[1]);
    for (size_t b = 0; b < kSamples; ++b) {
      const std::vector<float> expected = dense_losses(problem, written.tokens[b]);
      const size_t first = expected.size() - written.nll[b].size();
      for (size_t i = 0; i < written.nll[b].size(); ++i)
        EXPECT_NEAR(written.nll[b][i], expected[first + i], kSameNumber) << "sample " << b << " token " << i;
    }
  }
}

// The second read begins inside a segment and continues beyond its end.
TEST_P(GeneratorVariants, ReadsInPartsWhatItReadsAtOnce) {
  constexpr size_t kLength = 2 * kTgtLen + 3;
  ModelProblem problem(GetParam().config(), 1, kLength);
  const std::span<const int32_t> tokens(problem.tokens.as<int32_t>(), kLength);
  Generator whole(problem.in_use(), 1, kTgtLen);
  whole.read(tokens);
  Generator parts(problem.in_use(), 1, kTgtLen);
  parts.read(tokens.first(3));
  parts.read(tokens.subspan(3));
  const std::span<const float> expected = whole.next(0);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(parts.next(0)[i], expected[i], kSameNumber);
}

TEST(Generator, ASampleIsTheSameAloneAndAmongOthers) {
  ModelProblem problem(small_model(), 1, 8);
  Generator one(problem.in_use(), 1, kTgtLen);
  Generator three(problem.in_use(), 3, kTgtLen);
  const std::span<const int32_t> prompt(problem.tokens.as<int32_t>(), 8);
  one.read(prompt);
  three.read(prompt);
  const std::vector<float> alone(one.next(0).begin(), one.next(0).end());
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(three.next(2)[i], alone[i], kSameNumber);
}

TEST_P(GeneratorVariants, TakesTheBytesThatAreSaidBefore) {
  ModelProblem problem(GetParam().config(), 1, 40);
  Generator generator(problem.in_use(), kSamples, kTgtLen);
  generator.read({problem.tokens.as<int32_t>(), 40});
  for (int i = 0; i < 2 * kTgtLen; ++i) generator.read_each(std::vector<int32_t>(kSamples, 1));
  EXPECT_EQ(problem.in_use().arena.bytes(), generator.bytes().activations);
}

TEST(TokenLosses, AreThoseOfADensePassWithoutTheKnownTokens) {
  ModelProblem problem(small_model(), 1, 18);
  const std::vector<int32_t> tokens(problem.tokens.as<int32_t>(), problem.tokens.as<int32_t>() + 18);
  const std::vector<float> all = dense_losses(problem, tokens);
  for (const int64_t known : {1, 7, 18}) {
    const std::vector<float> found = token_losses(problem.in_use(), tokens, known, kTgtLen);
    ASSERT_EQ(std::ssize(found), 18 - known);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], all[static_cast<size_t>(known) - 1 + i], kSameNumber);
  }
}

}  // namespace
}  // namespace segue
