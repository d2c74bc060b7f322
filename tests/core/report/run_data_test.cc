// Directories of runs: finished, in progress, broken.
#include "core/report/run_data.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "core/report/scored_text.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue::report {
namespace {

using testing::HasSubstr;

constexpr const char* kLine =
    R"({"step":100,"unit":"byte","loss":2.5,"bits_per_byte":3.6,"learning_rate":0.001,"gradient_norm":0.8,"tokens":51200,"tokens_per_second":900.5,"seconds":56.9})";

Metrics parse(const std::string& text) { return parse_metrics(text, "run/metrics.jsonl"); }

TEST(MetricsTest, TrainingAndValidationAreToldApart) {
  const std::string validation = R"({"step":150,"evaluation":"valid","unit":"byte","loss":2.25,"tokens":9})";
  const Metrics metrics = parse(std::string(kLine) + "\n" + validation + "\n");
  ASSERT_EQ(metrics.training.size(), 1U);
  ASSERT_EQ(metrics.validation.size(), 1U);
  EXPECT_EQ(metrics.unit, "byte");
  EXPECT_EQ(metrics.training[0].tokens, 51200);
  EXPECT_EQ(metrics.training[0].bits_per_byte, 3.6);
  EXPECT_EQ(metrics.validation[0].tokens, 76800);  // of training by then
  EXPECT_FALSE(metrics.validation[0].bits_per_byte.has_value());
}

// Steps of a later stage are longer.
TEST(MetricsTest, ValidationLiesBetweenTheLinesNextToIt) {
  const auto line = [](int step, int tokens, double seconds) {
    return fmt::format(R"({{"step":{},"unit":"byte","loss":2.5,"tokens":{},"seconds":{}}})", step, tokens, seconds) +
           "\n";
  };
  const auto validation = [](int step) {
    return fmt::format(R"({{"step":{},"evaluation":"valid","unit":"byte","loss":2.25}})", step) + "\n";
  };
  const Metrics metrics =
      parse(validation(5) + line(10, 100, 1.0) + validation(10) + validation(15) + line(20, 500, 4.0) + validation(25));
  std::vector<int64_t> tokens;
  std::vector<double> seconds;
  for (const ValidationPoint& point : metrics.validation) {
    tokens.push_back(point.tokens);
    seconds.push_back(point.seconds);
  }
  EXPECT_THAT(tokens, testing::ElementsAre(50, 100, 300, 700));
  EXPECT_THAT(seconds, testing::ElementsAre(0.5, 1.0, 2.5, 5.5));
}

TEST(MetricsTest, ALastLineWithoutItsEndIsBeingWritten) {
  EXPECT_EQ(parse(std::string(kLine) + "\n{\"step\":200,\"lo").training.size(), 1U);
  EXPECT_EQ(parse(std::string(kLine) + "\n" + kLine).training.size(), 1U);
  EXPECT_TRUE(parse("").training.empty());
}

TEST(MetricsTest, SpansAreReadByLayerAndHead) {
  const std::string line = R"({"step":1,"tokens":2,"loss":3.0,"spans":)";
  EXPECT_EQ(parse(line + "[[],[1.5,2]]}\n").training[0].spans, (std::vector<std::vector<double>>{{}, {1.5, 2.0}}));
  EXPECT_TRUE(parse(std::string(kLine) + "\n").training[0].spans.empty());
  EXPECT_EQ(message_of<DataError>([&] { parse(line + "[3]}\n"); }),
            "run/metrics.jsonl, line 1: spans[0]: expected a list, found 3");
}

TEST(MetricsTest, BrokenLinesAreNamed) {
  const auto message = [](const std::string& text) { return message_of<DataError>([&] { parse(text); }); };
  EXPECT_THAT(message(std::string(kLine) + "\n{\"step\":200,\n" + kLine + "\n"),
              HasSubstr("run/metrics.jsonl, line 2"));
  EXPECT_EQ(message("{\"step\":1}\n"), "run/metrics.jsonl, line 1: expected the key tokens, found none");
  EXPECT_EQ(message("{\"step\":\"one\"}\n"), "run/metrics.jsonl, line 1: step: expected an integer, found \"one\"");
  EXPECT_EQ(message("[]\n"), "run/metrics.jsonl, line 1: the document: expected an object, found a list of 0");
}

class RunTest : public testing::Test {
 protected:
  std::filesystem::path make_run(const std::string& name) {
    make_directories(directory_ / name);
    write_file_atomically(directory_ / name / "config.json", R"({"data":{"path":"books","vocab_size":256}})");
    return directory_ / name;
  }
  TemporaryDirectory directory_;
};

TEST_F(RunTest, OneThatHasJustBegunIsRead) {
  const RunData run = read_run(make_run("young"));
  EXPECT_EQ(run.name, "young");
  EXPECT_TRUE(run.metrics.training.empty());
  EXPECT_TRUE(run.evaluations.empty());
  EXPECT_GT(run.parameters.value_or(0), 0);
}

TEST_F(RunTest, AnotherDirectoryIsRefused) {
  const std::string path = (directory_ / "none").string();
  EXPECT_EQ(message_of<DataError>([&] { read_run(path); }), path + ": expected the directory of a run, found nothing");
}

TEST_F(RunTest, WhatIsFoundInsteadIsNamed) {
  const auto refusal = [&](const std::string& name) {
    const std::string path = (directory_ / name).string();
    const std::string message = message_of<DataError>([&] { read_run(path); });
    EXPECT_THAT(message, testing::StartsWith(path + ": expected the directory of a run, found "));
    return message.substr(message.find("found ") + 6);
  };
  make_run("checkpoint");
  write_file_atomically(directory_ / "checkpoint" / "manifest.json", R"({"format": "segue-checkpoint"})");
  EXPECT_THAT(refusal("checkpoint"), HasSubstr("a checkpoint"));
  make_directories(directory_ / "data");
  write_file_atomically(directory_ / "data" / "manifest.json", R"({"format": "segue-dataset"})");
  EXPECT_THAT(refusal("data"), HasSubstr("a dataset"));
  make_directories(directory_ / "compared" / "runs");
  write_file_atomically(directory_ / "compared" / "measure.json", "{}");
  EXPECT_THAT(refusal("compared"), HasSubstr("the result of a comparison, whose runs are"));
  write_file_atomically(directory_ / "books.json", R"({"model": {}, "data": {"path": "books"}})");
  EXPECT_EQ(refusal("books.json"), "a training config, which segue train reads");
}

TEST_F(RunTest, WhatItWasTrainedOnIsKnownWithItsCheckpoint) {
  const std::filesystem::path path = make_run("trained");
  EXPECT_EQ(read_run(path).trained_on, "");
  write_file_atomically(path / "metrics.jsonl",
                        R"({"step":5,"evaluation":"valid","loss":2.0,"dataset":"tokens:xxh3:02",)"
                        R"("text":{"sources":"xxh3:01","begin":7,"bytes":9}})"
                        "\n");
  const ScoredText judged = judged_text(read_run(path));
  EXPECT_EQ(judged.tokens, "tokens:xxh3:02");
  EXPECT_EQ(judged.split, "valid");
  ASSERT_TRUE(judged.place.has_value());
  EXPECT_EQ(judged.place->begin, 7);
}

TEST_F(RunTest, NamesAreAsLongAsTheyMustBe) {
  make_run("a/base");
  make_run("b/base");
  make_run("b/other");
  const std::vector<RunData> runs = read_runs({directory_ / "a/base/", directory_ / "b/base"});
  EXPECT_EQ(runs[0].name, "a/base");
  EXPECT_EQ(runs[1].name, "b/base");
  EXPECT_EQ(read_runs({directory_ / "a/base", directory_ / "b/other"})[1].name, "other");
}

}  // namespace
}  // namespace segue::report
