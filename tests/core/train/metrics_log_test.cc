// metrics.jsonl and the console line: what they say of the rate of training, and the peak that it is held against.
#include "core/train/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "core/train/peak_rate.h"
#include "core/train/time_left.h"
#include "tests/message_of.h"
#include "tests/temporary_directory.h"

namespace segue {
namespace {

using testing::HasSubstr;
using testing::Not;

StepMetrics metrics_of(double flops_per_second, std::optional<double> mfu) {
  return {.step = 5,
          .loss = {.per_token = 1.5},
          .units = {},
          .tokens = 1000,
          .tokens_per_second = 200.0,
          .flops_per_second = flops_per_second,
          .mfu = mfu,
          .seconds = 5.0};
}

Json written(const StepMetrics& metrics) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "metrics.jsonl";
  MetricsLog(path, 0).write(metrics);
  return Json::parse(read_file(path));
}

TEST(MetricsLog, SaysHowFastTheModelIsComputed) {
  const Json line = written(metrics_of(1.5e11, 0.72));
  EXPECT_EQ(line["model_flops_per_second"], 1.5e11);
  EXPECT_EQ(line["mfu"], 0.72);
  EXPECT_THAT(console_line(metrics_of(1.5e11, 0.72), 10, "3.0 s"), HasSubstr("  150.0 GFLOP/s (72% of peak)  "));
}

TEST(MetricsLog, SaysNothingOfAPeakThatIsNotKnown) {
  const Json line = written(metrics_of(2.5e14, std::nullopt));
  EXPECT_EQ(line["model_flops_per_second"], 2.5e14);
  EXPECT_FALSE(line.contains("mfu"));
  EXPECT_THAT(console_line(metrics_of(2.5e14, std::nullopt), 10, "3.0 s"), HasSubstr("  250.0 TFLOP/s  "));
  EXPECT_THAT(console_line(metrics_of(2.5e14, std::nullopt), 10, "3.0 s"), Not(HasSubstr("peak")));
}

TEST(MetricsLog, SaysHowManyPassesTokensTook) {
  StepMetrics metrics = metrics_of(1.5e11, 0.72);
  EXPECT_FALSE(written(metrics).contains("mean_passes"));
  metrics.passes = 2.345;
  EXPECT_EQ(written(metrics)["mean_passes"], 2.345);
  EXPECT_THAT(console_line(metrics, 10, "3.0 s"), HasSubstr("  passes 2.35  lr"));
}

TEST(MetricsLog, SaysWhatSpansHeadsHaveLearned) {
  StepMetrics metrics = metrics_of(1.5e11, 0.72);
  EXPECT_FALSE(written(metrics).contains("spans"));
  metrics.spans = LearnedSpans{.layers = {{}, {3.0, 6.0}}, .penalty = 0.25};
  const Json line = written(metrics);
  EXPECT_EQ(line["span_penalty"], 0.25);
  EXPECT_EQ(line["mean_spans"], Json::parse("[null, 4.5]"));
  EXPECT_EQ(line["spans"], Json::parse("[[], [3.0, 6.0]]"));
}

TEST(MetricsLog, SaysWhatACompressionLearnsFrom) {
  StepMetrics metrics = metrics_of(1.5e11, 0.72);
  EXPECT_FALSE(written(metrics).contains("reconstruction_loss"));
  EXPECT_THAT(console_line(metrics, 10, "3.0 s"), Not(HasSubstr("reconstruction")));
  metrics.reconstruction = 0.0125;
  EXPECT_EQ(written(metrics)["reconstruction_loss"], 0.0125);
  EXPECT_THAT(console_line(metrics, 10, "3.0 s"), HasSubstr("  reconstruction 0.0125  lr"));
}

TEST(MetricsLog, SaysWhenEachLineWasWrittenAndAfterHowMuchTraining) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "metrics.jsonl";
  MetricsLog log(path, 0);
  log.write(metrics_of(1.5e11, 0.72));
  log.write_evaluation(5, 1000, "valid", {{"loss", 1.5}, {"evaluated_tokens", 70}});
  std::istringstream lines(read_file(path));
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text);
    EXPECT_THAT(line["time"].get<std::string>(),
                testing::MatchesRegex("20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z"));
    EXPECT_EQ(line["tokens"], 1000);
    EXPECT_EQ(line["step"], 5);
    EXPECT_EQ(line.contains("evaluated_tokens"), line.contains("evaluation"));
  }
}

Config config_of(int64_t max_step, int64_t evaluation_interval, int64_t checkpoint_interval) {
  Config config;
  config.training.max_step = max_step;
  config.evaluation.interval = evaluation_interval;
  config.checkpoint.interval = checkpoint_interval;
  return config;
}

TEST(TimeLeft, CountsEvaluationsAndSaves) {
  const Config config = config_of(100, 30, 40);  // evaluations at 30, 60, 90, 100; saves at 40, 80, two at 100
  const auto left = [&](int64_t step, bool evaluation_pending, bool is_saved) {
    const PausesLeft found = pauses_left(config, step, evaluation_pending, is_saved);
    return std::pair(static_cast<int>(found.evaluations), static_cast<int>(found.saves));
  };
  EXPECT_EQ(left(0, false, false), std::pair(4, 4));
  EXPECT_EQ(left(1, false, false), std::pair(4, 4));
  EXPECT_EQ(left(30, true, false), std::pair(4, 4));
  EXPECT_EQ(left(31, false, false), std::pair(3, 4));
  EXPECT_EQ(left(40, false, false), std::pair(3, 4));
  EXPECT_EQ(left(40, false, true), std::pair(3, 3));
  EXPECT_EQ(left(99, false, false), std::pair(1, 2));
  EXPECT_EQ(left(100, true, false), std::pair(1, 2));
  EXPECT_EQ(left(100, false, false), std::pair(0, 1));
  EXPECT_EQ(left(100, false, true), std::pair(0, 0));
  const PausesLeft none = pauses_left(config_of(100, 0, 0), 50, false, false);
  EXPECT_EQ(std::pair(none.evaluations, none.saves), std::pair(int64_t{0}, int64_t{1}));
}

TEST(TimeLeft, SaysNothingOfWhatNobodyHasMeasured) {
  PauseCosts costs;
  EXPECT_EQ(describe_time_left(28.0, {.evaluations = 4, .saves = 1}, costs), "28 s + 4 evaluations + 1 save");
  costs.save.add(1.0);
  costs.save.add(3.0);
  EXPECT_EQ(describe_time_left(28.0, {.evaluations = 4, .saves = 1}, costs), "30 s + 4 evaluations");
  costs.evaluation.add(20.0);
  EXPECT_EQ(describe_time_left(28.0, {.evaluations = 4, .saves = 2}, costs), "1 min 52 s");
  EXPECT_EQ(describe_time_left(0.0, {}, {}), "0.0 s");
}

TEST(MetricsLog, SaysWhyItCannotBeOpened) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory / "missing" / "metrics.jsonl";
  EXPECT_EQ(message_of<FileError>([&] { MetricsLog(path, 0); }),
            path.string() + ": cannot open for appending: No such file or directory");
}

TEST(PeakRate, IsThatOfSomeProcessor) {
  kernels::Queue queue(1);
  const double rate = measure_peak_rate(queue, DType::kFloat32);
  EXPECT_GT(rate, 1e7);
  EXPECT_LT(rate, 1e13);
}

// The first measurement of a busy machine, and what it reaches once it is left alone.
class BusyMachine {
 public:
  BusyMachine(double busy, double alone) : rates_({busy, alone}) {}
  double operator()() { return rates_[std::min<size_t>(measured_++, 1)]; }

 private:
  std::array<double, 2> rates_;
  size_t measured_ = 0;
};

TEST(JobPeak, IsMeasuredAgainWhenStepsExceedIt) {
  const std::unique_ptr<Job> alone = open_job({});
  JobPeak peak(*alone, BusyMachine(1e11, 2e11));
  peak.measure();
  peak.correct(0.9e11, true);
  EXPECT_EQ(peak.share(0.9e11), 0.9);
  peak.correct(1.85e11, true);
  EXPECT_EQ(peak.share(1.85e11), 0.925);
}

TEST(JobPeak, IsAtLeastWhatStepsReach) {
  const std::unique_ptr<Job> alone = open_job({});
  for (const bool again : {false, true}) {
    JobPeak peak(*alone, BusyMachine(1e11, 1.2e11));
    peak.measure();
    peak.correct(1.85e11, again);
    EXPECT_EQ(peak.share(1.85e11), 1.0);
  }
}

TEST(JobPeak, IsNotKnownBeforeItIsMeasured) {
  const std::unique_ptr<Job> alone = open_job({});
  JobPeak peak(*alone, BusyMachine(1e11, 2e11));
  peak.correct(1e12, true);
  EXPECT_EQ(peak.share(1e12), std::nullopt);
}

}  // namespace
}  // namespace segue
