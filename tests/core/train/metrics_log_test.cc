// metrics.jsonl and the console line: what they say of the rate of training, and the peak that it is held against.
#include "core/train/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "core/train/peak_rate.h"
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
  EXPECT_THAT(console_line(metrics_of(1.5e11, 0.72), 10, 3.0), HasSubstr("  150.0 GFLOP/s (72% of peak)  "));
}

TEST(MetricsLog, SaysNothingOfAPeakThatIsNotKnown) {
  const Json line = written(metrics_of(2.5e14, std::nullopt));
  EXPECT_EQ(line["model_flops_per_second"], 2.5e14);
  EXPECT_FALSE(line.contains("mfu"));
  EXPECT_THAT(console_line(metrics_of(2.5e14, std::nullopt), 10, 3.0), HasSubstr("  250.0 TFLOP/s  "));
  EXPECT_THAT(console_line(metrics_of(2.5e14, std::nullopt), 10, 3.0), Not(HasSubstr("peak")));
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
  EXPECT_THAT(console_line(metrics, 10, 3.0), Not(HasSubstr("reconstruction")));
  metrics.reconstruction = 0.0125;
  EXPECT_EQ(written(metrics)["reconstruction_loss"], 0.0125);
  EXPECT_THAT(console_line(metrics, 10, 3.0), HasSubstr("  reconstruction 0.0125  lr"));
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
  EXPECT_EQ(peak.correct(0.9e11, true), std::nullopt);
  EXPECT_EQ(peak.share(0.9e11), 0.9);
  EXPECT_THAT(peak.correct(1.85e11, true).value(), HasSubstr("the peak of 100.0 GFLOP/s"));
  EXPECT_EQ(peak.share(1.85e11), 0.925);
  EXPECT_EQ(peak.correct(1.85e11, true), std::nullopt);
}

TEST(JobPeak, IsAtLeastWhatStepsReach) {
  const std::unique_ptr<Job> alone = open_job({});
  for (const bool again : {false, true}) {
    JobPeak peak(*alone, BusyMachine(1e11, 1.2e11));
    peak.measure();
    EXPECT_THAT(peak.correct(1.85e11, again).value(), HasSubstr("it is now taken to be 185.0"));
    EXPECT_EQ(peak.share(1.85e11), 1.0);
  }
}

TEST(JobPeak, IsNotKnownBeforeItIsMeasured) {
  const std::unique_ptr<Job> alone = open_job({});
  JobPeak peak(*alone, BusyMachine(1e11, 2e11));
  EXPECT_EQ(peak.correct(1e12, true), std::nullopt);
  EXPECT_EQ(peak.share(1e12), std::nullopt);
}

}  // namespace
}  // namespace segue
