// Evaluations of masked models: which tokens they ask for, and that nothing but the text decides their losses.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/config/head_kind.h"
#include "core/evaluation/evaluator.h"
#include "core/model/reach.h"
#include "data_pipeline/masked_tokens.h"
#include "tests/core/model/model_problem.h"
#include "tests/data_pipeline/testing.h"
#include "tests/message_of.h"

namespace segue {
namespace {

class MaskedEvaluation : public testing::TestWithParam<ModelVariant> {
 protected:
  MaskedEvaluation() {
    const OwnedTensor drawn = draw_tokens(1, kTokens, ModelProblem::kVocabulary, 1);
    const std::vector<uint16_t> tokens(drawn.as<int32_t>(), drawn.as<int32_t>() + kTokens);
    prepare_silently({.output = directory_ / "dataset",
                      .train = {write_tokens(directory_ / "tokens", tokens)},
                      .format = SourceFormat::kUInt16});
  }
  TokenSource source() { return Dataset(directory_ / "dataset").split("train"); }

  // By offset in the split; NaN of tokens that are not asked for.
  std::vector<float> losses(const EvaluationPlan& plan) {
    const std::unique_ptr<Job> alone = open_job({});
    Evaluator evaluator(problem_.in_use(), *alone);
    std::vector<float> nll(kTokens, std::numeric_limits<float>::quiet_NaN());
    int64_t told = 0;
    const EvaluationResult result = evaluator.run(
        source(), plan,
        [&](const ScoredTokens& scored) {
          std::ranges::copy(scored.nll, nll.begin() + scored.offset);
          told += std::ssize(scored.nll);
        },
        nullptr);
    EXPECT_EQ(result.tokens, told);
    EXPECT_EQ(result.hits.has_value(), problem_.model.config().head.kind == HeadKind::kSoftmax);
    return nll;
  }

  static constexpr int64_t kTokens = 200;
  static constexpr int64_t kTgtLen = 6;  // patterns of the variants repeat in it
  TemporaryDirectory directory_;
  ModelProblem problem_{GetParam().config(), 1, 1};
};
INSTANTIATE_TEST_SUITE_P(Variants, MaskedEvaluation, testing::ValuesIn(masked_variants()), name_of_variant);
INSTANTIATE_TEST_SUITE_P(GlobalStreams, MaskedEvaluation, testing::ValuesIn(global_stream_variants()), name_of_variant);

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::isnan(found[i]), std::isnan(expected[i])) << i;
    if (!std::isnan(found[i])) {
      EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
    }
  }
}

TEST_P(MaskedEvaluation, AsksForTheTokensThatEpochNoneMasks) {
  const std::vector<float> found = losses(plan_streams(kTokens, 1, kTgtLen, 0, 0));
  std::vector<int32_t> tokens(kTokens);
  source().read(0, tokens);
  const Masking masking = *evaluation_masking(problem_.model);
  EXPECT_TRUE(std::isnan(found[0]));  // no row has it as a target
  for (int64_t offset = 1; offset < kTokens; ++offset) {
    const auto i = static_cast<size_t>(offset);
    EXPECT_EQ(!std::isnan(found[i]), masked(masking, 0, offset, tokens[i]).target >= 0) << offset;
  }
}

// Lanes of different lengths run side by side, and what is behind the end of one is seen by nobody.
TEST_P(MaskedEvaluation, LossesDoNotDependOnTheBatch) {
  const ModelConfig& model = problem_.model.config();
  const int64_t warm_up = warm_up_in_tokens(model, use_of(model), kTgtLen).value();
  const std::vector<float> alone = losses(plan_streams(kTokens, 1, kTgtLen, 0, 0));
  for (const int64_t lanes : {2, 3, 5}) expect_near(losses(plan_streams(kTokens, lanes, kTgtLen, warm_up, 0)), alone);
  const std::vector<int64_t> begins{0, 20, 21, 53, 90, 171};
  const std::vector<float> one = losses(plan_documents(kTokens, begins, 1, kTgtLen, 0));
  for (const int64_t lanes : {2, 4}) expect_near(losses(plan_documents(kTokens, begins, lanes, kTgtLen, 0)), one);
}

// The losses of the first segment by the oracle.
TEST_P(MaskedEvaluation, AreTheOracles) {
  const std::vector<float> found = losses(plan_streams(kTokens, 1, kTgtLen, 0, 0));
  std::vector<int32_t> text(kTgtLen + 1);
  source().read(0, text);
  oracle::StreamTokens stream{.tokens = {}, .targets = {text.begin() + 1, text.end()}};
  const Masking masking = *evaluation_masking(problem_.model);
  for (int64_t offset = 1; offset <= kTgtLen; ++offset)
    stream.tokens.push_back(masked(masking, 0, offset, text[static_cast<size_t>(offset)]).token);
  const ModelConfig& model = problem_.model.config();
  oracle::Memory memory = oracle::initial_memory(model);
  const std::vector<double> expected = oracle::segmented_nll(model, problem_.oracle<double>(), stream, kTgtLen, memory);
  for (size_t i = 1; i <= kTgtLen; ++i) {
    if (!std::isnan(found[i])) {
      EXPECT_NEAR(found[i], expected[i - 1], 1e-5) << i;
    }
  }
}

}  // namespace
}  // namespace segue
