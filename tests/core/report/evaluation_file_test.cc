// The files of segue eval are read as they were meant, or refused with the key at fault.
#include "core/report/evaluation_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue::report {
namespace {

using testing::HasSubstr;

constexpr const char* kEvaluation = R"({
  "format": "segue-evaluation", "version": 1, "command": "segue eval", "checkpoint": "run", "step": 20, "data": "books", "split": "test",
  "unit": "byte", "trained": {"mem_len": 128, "tgt_len": 64}, "warm_up": null, "later": "passed over",
  "results": [
    {"mode": "memory", "mem_len": 0, "tgt_len": 64, "clamp_len": -1, "same_length": false, "context": 64,
     "tokens": 1000, "loss": 1.5, "confidence95": 0.1, "bits_per_byte": 2.16,
     "by_position": [{"position": 0, "tokens": 20, "loss": 3.5, "confidence95": 0.5}],
     "by_context": [{"from": 0, "to": 31, "tokens": 500, "loss": 2.0, "confidence95": 0.2}]},
    {"mode": "recompute", "mem_len": 0, "tgt_len": 32, "stride": 4, "context": 32, "tokens": 1000, "loss": 1.6}],
  "sample": {"offset": 7, "tokens": [{"text": "th", "nll": [0.5, null]}]}
})";

constexpr const char* kContext = R"({
  "format": "segue-effective-context", "version": 1, "threshold": 0.01, "step": 50, "ratios": [0.1, 1.0],
  "models": [{"name": "a", "effective_context": {"0.1": 900, "1.0": null},
              "curves": [{"ratio": 0.1, "points": [{"context": 50, "loss": 2.0, "next_loss": 1.9, "gain": 0.05}]}]}]
})";

class EvaluationFileTest : public testing::Test {
 protected:
  std::filesystem::path write(const Json& document) {
    make_directories(directory_ / "memory");
    write_file_atomically(path_, document.dump());
    return path_;
  }
  std::string refusal(const Json& document) {
    std::string message = message_of<DataError>([&] { read_evaluation(write(document)); });
    const std::string prefix = path_.string() + ": ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "memory" / "evaluation.json";
};

TEST_F(EvaluationFileTest, ReadsWhichTextWasScored) {
  Json document = Json::parse(kEvaluation);
  document["dataset"] = "tokens:xxh3:01";
  document["text"] = {{"sources", "xxh3:02"}, {"begin", 3}, {"bytes", 4}};
  document["results"][0]["bytes"] = 1000;
  const Evaluation evaluation = read_evaluation(write(document));
  EXPECT_EQ(evaluation.dataset, "tokens:xxh3:01");
  ASSERT_TRUE(evaluation.text.has_value());
  EXPECT_EQ(evaluation.text->sources, "xxh3:02");
  EXPECT_EQ(evaluation.results[0].bytes, 1000);
  document["text"]["begin"] = -1;
  EXPECT_THAT(refusal(document), HasSubstr("text.begin: expected an integer from 0"));
}

TEST_F(EvaluationFileTest, ReadsWhatItNeeds) {
  const Evaluation evaluation = read_evaluation(write(Json::parse(kEvaluation)));
  EXPECT_EQ(evaluation.name, "memory");
  EXPECT_EQ(evaluation.trained_mem_len, 128);
  EXPECT_EQ(evaluation.dataset, "");
  EXPECT_FALSE(evaluation.text.has_value());
  ASSERT_EQ(evaluation.results.size(), 2U);
  EXPECT_EQ(evaluation.results[0].bits_per_byte, 2.16);
  EXPECT_EQ(evaluation.results[0].by_position.at(0).loss, 3.5);
  EXPECT_EQ(evaluation.results[0].by_context.at(0).to, 31);
  EXPECT_TRUE(evaluation.results[1].is_recomputed);
  EXPECT_EQ(evaluation.results[1].stride, 4);
  EXPECT_FALSE(evaluation.results[1].bits_per_byte.has_value());
  EXPECT_EQ(evaluation.sample_offset, 7);
  EXPECT_EQ(evaluation.sample.at(0).text, "th");
  EXPECT_EQ(evaluation.sample.at(0).nll.at(0), 0.5);
  EXPECT_FALSE(evaluation.sample.at(0).nll.at(1).has_value());
}

TEST_F(EvaluationFileTest, TokensOfOneCharacterAreOne) {
  Json document = Json::parse(kEvaluation);
  document["sample"]["tokens"] = Json::parse(R"([{"text": "", "nll": [1.0, 2.0]}, {"text": "", "nll": [0.5, null]},
      {"text": "\u20ac", "nll": [0.25, 1.0]}, {"text": "a", "nll": [3.0, 4.0]}, {"text": "", "nll": [9.0, 9.0]}])");
  const Evaluation evaluation = read_evaluation(write(document));
  ASSERT_EQ(evaluation.sample.size(), 2U);
  EXPECT_EQ(evaluation.sample[0].nll.at(0), 1.75);
  EXPECT_EQ(evaluation.sample[0].nll.at(1), 3.0);
  EXPECT_EQ(evaluation.sample[1].nll.at(0), 3.0);
}

TEST_F(EvaluationFileTest, AnotherVersionIsRefused) {
  Json document = Json::parse(kEvaluation);
  document["version"] = 2;
  EXPECT_EQ(refusal(document), "version: expected 1 (a newer Segue wrote it; use that one), found 2");
  document["format"] = "segue-other";
  EXPECT_EQ(refusal(document), "format: expected \"segue-evaluation\", found \"segue-other\"");
}

TEST_F(EvaluationFileTest, WrongValuesAreNamed) {
  const Json good = Json::parse(kEvaluation);
  Json document = good;
  document["results"][1]["mode"] = "dream";
  EXPECT_EQ(refusal(document), "results[1].mode: expected \"memory\" or \"recompute\", found \"dream\"");
  document = good;
  document["results"][0]["by_position"][0]["loss"] = "low";
  EXPECT_EQ(refusal(document), "results[0].by_position[0].loss: expected a number, found \"low\"");
  document = good;
  document["results"][0].erase("loss");
  EXPECT_EQ(refusal(document), "expected the key results[0].loss, found none");
  document = good;
  document["sample"]["tokens"][0]["nll"] = {1.0};
  EXPECT_EQ(refusal(document), "sample.tokens[0].nll: expected one loss for each of 2 results, found a list of 1");
}

constexpr const char* kAnswers = R"({
  "answers": 200, "accuracy": 0.75, "confidence95": 0.125,
  "by_examples": [{"tokens": 65, "traits": {"items": 4}, "answers": 200, "accuracy": 0.75, "confidence95": null}],
  "by_distance": [{"from": 3, "to": 4, "answers": 50, "accuracy": 1.0, "confidence95": 0.0}],
  "hardest": [{"example": 7, "begin": 455, "answers": 4, "right": 1, "first_wrong": {"offset": 470, "distance": 2},
               "tokens": [5, 6, 7], "texts": ["a", "", "b"]}],
  "longest_trained": 65
})";

TEST_F(EvaluationFileTest, AnswersAreRead) {
  Json document = Json::parse(kEvaluation);
  document["results"][0]["answers"] = Json::parse(kAnswers);
  const Evaluation evaluation = read_evaluation(write(document));
  EXPECT_FALSE(evaluation.results[1].answers.has_value());
  const Answers& answers = evaluation.results[0].answers.value();
  EXPECT_EQ(answers.total.accuracy, 0.75);
  EXPECT_EQ(answers.total.confidence95, 0.125);
  EXPECT_EQ(answers.by_examples.at(0).traits.at("items"), 4);
  EXPECT_FALSE(answers.by_examples.at(0).share.confidence95.has_value());
  EXPECT_EQ(answers.by_distance.at(0).to, 4);
  EXPECT_EQ(answers.hardest.at(0).first_wrong, 470);
  EXPECT_EQ(answers.hardest.at(0).texts.size(), 3U);
  EXPECT_EQ(answers.longest_trained, 65);
}

TEST_F(EvaluationFileTest, AnswersThatCannotBeAreRefused) {
  const auto refused = [&](const char* pointer, const Json& value) {
    Json document = Json::parse(kEvaluation);
    document["results"][0]["answers"] = Json::parse(kAnswers);
    document["results"][0]["answers"][Json::json_pointer(pointer)] = value;
    return refusal(document);
  };
  const std::string answers = "results[0].answers.";
  EXPECT_EQ(refused("/accuracy", 1.5), answers + "accuracy: expected a number from 0 to 1, found 1.5");
  EXPECT_EQ(refused("/confidence95", -1), answers + "confidence95: expected a number from 0 on, found -1");
  EXPECT_EQ(refused("/answers", 0), answers + "answers: expected an integer from 1 to 1099511627776, found 0");
  EXPECT_THAT(refused("/answers", int64_t{1} << 41), HasSubstr("from 1 to 1099511627776, found 2199023255552"));
  EXPECT_EQ(refused("/by_examples/0/traits/items", "4"),
            answers + "by_examples[0].traits.items: expected an integer, found \"4\"");
  EXPECT_THAT(refused("/by_distance/0/to", 2), HasSubstr("by_distance[0].to: expected an integer from 3 to"));
  EXPECT_EQ(refused("/hardest/0/right", 4), answers + "hardest[0].right: expected fewer than 4 answers, found 4");
  EXPECT_THAT(refused("/hardest/0/first_wrong/offset", 454), HasSubstr("offset: expected an integer from 455 to"));
  EXPECT_THAT(refused("/hardest/0/tokens", Json::array()),
              HasSubstr("tokens: expected the tokens up to the wrong answer"));
  EXPECT_THAT(refused("/hardest/0/texts", {"a"}), HasSubstr("texts: expected a text for each of 3 tokens"));
}

TEST_F(EvaluationFileTest, EffectiveContextIsRead) {
  const EffectiveContext context = read_effective_context(write(Json::parse(kContext)));
  ASSERT_EQ(context.models.size(), 1U);
  EXPECT_EQ(context.models[0].lengths.at(0), 900.0);
  EXPECT_FALSE(context.models[0].lengths.at(1).has_value());
  EXPECT_EQ(context.models[0].curves.at(0).points.at(0).gain, 0.05);
  EXPECT_THAT(message_of<DataError>([&] { read_effective_context(write(Json::parse(kEvaluation))); }),
              HasSubstr("format: expected \"segue-effective-context\""));
}

TEST_F(EvaluationFileTest, JoinedPartsKeepTheirMeanAndNoToken) {
  const std::vector<LossOfPart> parts{
      {0, 0, 10, 50, 4.0, 0.3}, {1, 1, 30, 70, 2.0, 0.1}, {2, 2, 0, 0, 0.0, 0.0}, {3, 5, 5, 9, 1.0, 0.5}};
  const std::vector<LossOfPart> groups = joined(parts, [](const LossOfPart& group) { return group.tokens >= 40; });
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].to, 1);
  EXPECT_EQ(groups[0].tokens, 40);
  EXPECT_EQ(groups[0].bytes, 120);
  EXPECT_DOUBLE_EQ(groups[0].loss, 2.5);
  EXPECT_DOUBLE_EQ(groups[0].confidence95, std::sqrt(3.0 * 3.0 + 3.0 * 3.0) / 40.0);
  EXPECT_EQ(groups[1].from, 3);
  EXPECT_EQ(groups[1].to, 5);
  EXPECT_DOUBLE_EQ(groups[1].loss, 1.0);
}

}  // namespace
}  // namespace segue::report
