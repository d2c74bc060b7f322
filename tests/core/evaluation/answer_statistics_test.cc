// Answers of marked data by hand, and that a model reads every example as if there were no other.
#include "core/evaluation/answer_statistics.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "core/evaluation/evaluator.h"
#include "distributed/job.h"
#include "tests/core/model/model_problem.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

uint8_t mark(TokenMark of) { return static_cast<uint8_t>(of.bits); }

// Two runs of two examples each, of 4 and of 6 tokens.
MarkedSplit four_examples() {
  const uint8_t none = 0;
  const uint8_t near = mark(TokenMark::answer(1));
  const uint8_t far = mark(TokenMark::answer(5));
  const uint8_t more = mark(TokenMark::further(5));
  const uint8_t plain = mark(TokenMark::answer(0));
  return {.name = "train",
          .tokens = std::vector<uint16_t>(20, 3),
          .marks = {none, near, none, near,                //
                    none, none, none, plain,               //
                    none, far,  more, far,   none, more,   // the last goes on with nothing, and is an answer
                    none, far,  more, more,  near, near},  //
          .examples = {{{.count = 2, .tokens = 4, .traits = {{"items", 1}}},
                        {.count = 2, .tokens = 6, .traits = {{"items", 2}}}}}};
}

class AnswerStatisticsTest : public ::testing::Test {
 protected:
  AnswerStatistics count(const MarkedSplit& split, const std::vector<float>& margins, int64_t shard_tokens = 7) {
    TokenSource source = Dataset(write_marked(directory_ / "marked", 23, {split}, shard_tokens)).split("train");
    return count_answers(source, margins);
  }

  TemporaryDirectory directory_;
};

TEST_F(AnswerStatisticsTest, AnAnswerIsRightWhenAllItsTokensAre) {
  std::vector<float> margins(20, 0.5F);
  margins[3] = 0.0F;       // a tie
  margins[10] = -1.0F;     // the second token of an answer
  margins[17] = -0.25F;    // the third
  margins[19] = kUnknown;  // not evaluated
  margins[2] = -5.0F;      // not scored
  const AnswerStatistics found = count(four_examples(), margins);

  EXPECT_EQ(found.total.answers(), 8);
  EXPECT_DOUBLE_EQ(found.total.mean(), 5.0 / 8.0);
  std::vector<float> right(20, kUnknown);
  for (const size_t i : {1, 7, 11, 13, 18}) right[i] = 1.0F;
  for (const size_t i : {3, 9, 15}) right[i] = 0.0F;
  for (size_t i = 0; i < right.size(); ++i) {
    EXPECT_EQ(std::isnan(found.right[i]), std::isnan(right[i])) << i;
    if (!std::isnan(right[i])) {
      EXPECT_EQ(found.right[i], right[i]) << i;
    }
  }

  ASSERT_EQ(found.by_run.size(), 2U);
  EXPECT_EQ(found.by_run[0].answers.answers(), 3);
  EXPECT_DOUBLE_EQ(found.by_run[0].answers.mean(), 2.0 / 3.0);
  EXPECT_EQ(found.by_run[1].answers.answers(), 5);
  EXPECT_EQ(found.by_run[1].run.traits.at(0), (ExampleTrait{"items", 2}));

  ASSERT_EQ(found.by_distance.size(), 2U);
  EXPECT_EQ(found.by_distance[0].to, 1);
  EXPECT_EQ(found.by_distance[0].answers.answers(), 3);
  EXPECT_EQ(found.by_distance[1].from, 5);
  EXPECT_EQ(found.by_distance[1].to, 8);
  EXPECT_EQ(found.by_distance[1].answers.answers(), 4);

  ASSERT_EQ(found.hardest.size(), 3U);
  EXPECT_EQ(found.hardest[0].index, 3);  // half of its two that were evaluated, and further from right than a tie
  EXPECT_EQ(found.hardest[0].first_wrong, 15);
  EXPECT_EQ(found.hardest[0].distance, 5);
  EXPECT_EQ(found.hardest[1].index, 0);
  EXPECT_EQ(found.hardest[1].first_wrong, 3);
  EXPECT_EQ(found.hardest[1].distance, 1);
  EXPECT_EQ(found.hardest[2].index, 2);
  EXPECT_EQ(found.hardest[2].answers, 3);
  EXPECT_EQ(found.hardest[2].right, 2);
}

TEST_F(AnswerStatisticsTest, OfOneTextThereAreNoRuns) {
  MarkedSplit split = four_examples();
  split.examples.reset();
  const AnswerStatistics found = count(split, std::vector<float>(20, 1.0F), 1000);
  EXPECT_DOUBLE_EQ(found.total.mean(), 1.0);
  EXPECT_EQ(found.total.answers(), 9);
  EXPECT_TRUE(found.by_run.empty());
  EXPECT_TRUE(found.hardest.empty());
}

AnswerMean right_of(int64_t right, int64_t examples, int64_t answers_of_each = 1) {
  AnswerMean mean;
  for (int64_t i = 0; i < examples; ++i)
    for (int64_t a = 0; a < answers_of_each; ++a) mean.add(i * LossMean::kRegions / examples, i, i < right);
  return mean;
}

// Wilson's interval of 10 right ones of 10 is from 72.2 to 100 %, of 0 of 10 from 0 to 27.8 %.
TEST(AnswerMeanTest, WhereAllOrNoneAreRightIsAsWideAsTheirNumberLeavesIt) {
  EXPECT_NEAR(right_of(10, 10).confidence95(), 0.27753, 1e-4);
  EXPECT_NEAR(right_of(0, 10).confidence95(), 0.27753, 1e-4);
  EXPECT_NEAR(right_of(10, 10, 16).confidence95(), 0.27753, 1e-4);  // those of an example tell no more than one
  EXPECT_NEAR(right_of(1, 1).confidence95(), 0.79346, 1e-4);
  EXPECT_LT(right_of(1000, 1000).confidence95(), 0.004);
}

TEST(AnswerMeanTest, CoversTheTruthNineteenTimesOfTwenty) {
  constexpr int kTrials = 2000;
  for (const double truth : {0.5, 0.9, 0.99}) {
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      AnswerMean mean;
      for (int64_t i = 0; i < 200; ++i) {
        const RandomSequence draws{.seed = 5, .step = static_cast<uint64_t>(trial)};
        mean.add(i * LossMean::kRegions / 200, i, random_bits(draws, static_cast<uint64_t>(i)) < truth * 4294967296.0);
      }
      covered += std::abs(mean.mean() - truth) <= mean.confidence95() ? 1 : 0;
    }
    EXPECT_GT(covered, 0.935 * kTrials) << truth;
  }
}

TEST(EvaluationPlanTest, ExamplesAreLanesOfTheirOwn) {
  const std::vector<ExampleRun> runs{{.count = 3, .tokens = 4}, {.count = 2, .tokens = 7}};
  const EvaluationPlan plan = plan_examples(runs, 2, 3, 0);
  EXPECT_EQ(plan.groups(), 3);
  EXPECT_EQ(plan.scored_rows(), 3 * 3 + 2 * 6);
  EXPECT_EQ(plan.group(0), (std::vector<Lane>{{0, 0, 3}, {4, 4, 7}}));
  EXPECT_EQ(plan.group(1), (std::vector<Lane>{{8, 8, 11}, {12, 12, 18}}));
  EXPECT_EQ(plan.group(2), (std::vector<Lane>{{19, 19, 25}, {}}));
  const EvaluationPlan some = plan_examples(runs, 1, 3, 13);  // half of the tokens: of each run, rounded up
  EXPECT_EQ(some.groups(), 3);
  EXPECT_EQ(some.scored_rows(), 2 * 3 + 6);
  EXPECT_EQ(some.group(1), (std::vector<Lane>{{4, 4, 7}}));
  EXPECT_EQ(some.group(2), (std::vector<Lane>{{12, 12, 18}}));
}

// Examples of random tokens, of which a third is scored.
class ExamplesTest : public ::testing::Test {
 protected:
  static constexpr int64_t kExamples = 6;
  static constexpr int64_t kTokens = 11;
  static constexpr int64_t kTgtLen = 4;

  // The examples of these numbers, one after another.
  MarkedSplit examples(const std::vector<int64_t>& order) const {
    const OwnedTensor drawn = draw_tokens(kExamples, kTokens, ModelProblem::kVocabulary, 1);
    MarkedSplit split{.name = "train", .tokens = {}, .marks = {}, .examples = {}};
    for (const int64_t example : order)
      for (int64_t i = 0; i < kTokens; ++i) {
        split.tokens.push_back(static_cast<uint16_t>(drawn.as<int32_t>()[example * kTokens + i]));
        split.marks.push_back((example + i) % 3 == 0 ? 1 : 0);
      }
    split.examples = {{.count = std::ssize(order), .tokens = kTokens}};
    return split;
  }

  struct Losses {
    std::vector<float> nll;
    EvaluationResult result;
  };
  Losses losses(const MarkedSplit& split, const ModelConfig& config, int64_t lanes) {
    ModelProblem problem(config, 1, 1);
    const std::unique_ptr<Job> alone = open_job({});
    Evaluator evaluator(problem.in_use(), *alone);
    Losses found{.nll = std::vector<float>(split.tokens.size(), kUnknown), .result = {}};
    found.result = evaluator.run(
        Dataset(write_marked(directory_ / "examples", 23, {split})).split("train"),
        plan_examples(*split.examples, lanes, kTgtLen, 0),
        [&](const ScoredTokens& scored) { std::ranges::copy(scored.nll, found.nll.begin() + scored.offset); }, nullptr);
    return found;
  }

  TemporaryDirectory directory_;
};

TEST_F(ExamplesTest, LossesOfShuffledExamplesAreThoseOfExamplesAlone) {
  ModelConfig model = small_model();
  model.mem_len = 9;
  const std::vector<int64_t> order{4, 0, 5, 2, 1, 3};
  const MarkedSplit shuffled = examples(order);
  const Losses together = losses(shuffled, model, 3);
  double total = 0.0;
  for (size_t place = 0; place < order.size(); ++place) {
    const Losses alone = losses(examples({order[place]}), model, 1);
    total += alone.result.total_nll;
    for (int64_t i = 0; i < kTokens; ++i) {
      const auto at = place * kTokens + static_cast<size_t>(i);
      const bool is_scored = shuffled.marks[at] == 1 && i > 0;
      EXPECT_EQ(!std::isnan(together.nll[at]), is_scored) << at;
      EXPECT_EQ(!std::isnan(alone.nll[static_cast<size_t>(i)]), is_scored) << at;
      if (is_scored) {
        EXPECT_NEAR(together.nll[at], alone.nll[static_cast<size_t>(i)], 1e-6) << at;
      }
    }
  }
  EXPECT_NEAR(together.result.total_nll, total, 1e-5);
  EXPECT_EQ(together.result.tokens, 20);
}

TEST_F(ExamplesTest, AMarkedSplitWithNothingScoredIsRefused) {
  MarkedSplit split = examples({0, 1});
  std::ranges::fill(split.marks, uint8_t{0});
  EXPECT_THAT(message_of<DataError>([&] { losses(split, small_model(), 1); }),
              testing::HasSubstr("split \"train\": expected a scored target among those evaluated, found none"));
}

}  // namespace
}  // namespace segue
