// Means of right answers over seeds.
#include "core/compare/compared_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "core/compare/compared_runs.h"
#include "tests/message_of.h"

namespace segue {
namespace {

using report::Answers;

Answers answers(double first, double second) {
  Answers made{.total = {.answers = 400, .accuracy = (first + second) / 2}};
  made.by_examples.push_back({.tokens = 9, .traits = {{"items", 1}}, .share = {.answers = 200, .accuracy = first}});
  made.by_examples.push_back({.tokens = 17, .traits = {{"items", 1}}, .share = {.answers = 200, .accuracy = second}});
  return made;
}

// A seed's runs of examples rise and fall together: they are joined seed by seed, and the interval is of the seeds.
TEST(ComparedAnswersTest, SharesAreJoinedBeforeTheirMeanOverSeeds) {
  const Answers a = answers(1.0, 0.5);
  const Answers b = answers(0.6, 0.1);
  const report::SharesOf by_items = [](const Answers& of) { return report::shares_by(of, {"items"}); };
  const report::Shares shares = shares_over_seeds({&a, nullptr, &b}, by_items);
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].share.answers, 400);
  EXPECT_DOUBLE_EQ(shares[0].share.accuracy, 0.55);
  EXPECT_NEAR(shares[0].share.confidence95.value(), 12.7062 * 0.2, 1e-3);  // t of one degree of freedom, and the error
  EXPECT_THAT(shares[0].each, testing::ElementsAre(testing::DoubleEq(0.75), testing::DoubleEq(0.35)));
  EXPECT_TRUE(shares_over_seeds({nullptr}, by_items).empty());
}

TEST(ComparedAnswersTest, IntervalsAreNeverNarrowerThanThoseOfTheText) {
  const report::AnswerShare all{.answers = 100, .accuracy = 1.0, .confidence95 = 0.04};
  EXPECT_DOUBLE_EQ(share_over_seeds({all, all, all}).confidence95.value(), 0.04);
  EXPECT_DOUBLE_EQ(share_over_seeds({all}).confidence95.value(), 0.04);
}

TEST(ComparedAnswersTest, OfOneSeedThatIsLeftOfSeveralThereIsNoInterval) {
  const report::AnswerShare left{.answers = 100, .accuracy = 0.5, .confidence95 = 0.1};
  const report::AnswerShare share = share_over_seeds({std::nullopt, left, std::nullopt});
  EXPECT_DOUBLE_EQ(share.accuracy, 0.5);
  EXPECT_FALSE(share.confidence95.has_value());
}

TEST(ComparedAnswersTest, EverySeedIsListedWhereSomeDiverged) {
  const Answers a = answers(1.0, 0.5);
  const Answers b = answers(0.5, 0.0);
  OrderedJson json = OrderedJson::object();
  add_answers(json, {&a, nullptr, &b});
  EXPECT_EQ(json["by_examples"][0]["accuracy"], 0.75);
  EXPECT_EQ(json["by_examples"][1]["seeds"], OrderedJson({0.5, nullptr, 0.0}));
  EXPECT_EQ(json["by_examples"][1]["tokens"], 17);
  EXPECT_TRUE(json["by_distance"].empty());
}

TEST(ComparedAnswersTest, AnswersToOtherExamplesAreRefused) {
  ComparisonResult result{.seeds = {1, 2}};
  ComparedVariant variant{.name = "xl"};
  for (const double accuracy : {1.0, 0.5}) {
    report::EvaluatedLength length{.answers = answers(accuracy, accuracy)};
    report::Evaluation evaluation{.name = kComparedEvaluation, .results = {length}};
    variant.runs.push_back({.path = "runs/xl", .evaluations = {evaluation}});
  }
  EXPECT_EQ(answers_of_seeds(result, variant, 0).size(), 2U);
  variant.runs[1].evaluations[0].results[0].answers->by_examples[0].tokens = 10;
  EXPECT_THAT(message_of<DataError>([&] { answers_of_seeds(result, variant, 0); }),
              testing::HasSubstr("runs/xl: evaluation \"compare\": expected answers to the same examples"));
}

}  // namespace
}  // namespace segue
