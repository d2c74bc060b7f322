// Who hears of a run: its observer, and the collectives when it ends with an error.
#include "core/train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/data_pipeline/testing.h"

namespace segue {
namespace {

// The collectives of a rank that is alone: there is nothing to sum.
class AbandonedCollectives final : public Collectives {
 public:
  AbandonedCollectives() : Collectives(0, 1) {}
  const char* name() const override { return "one rank"; }
  void all_reduce(TensorView /*values*/) override {}
  void reduce_scatter(ConstTensorView /*values*/, TensorView /*my_part*/) override {}
  void all_gather(ConstTensorView /*my_part*/, TensorView /*values*/) override {}
  void abandon() noexcept override { ++times_; }
  int times() const { return times_; }

 private:
  int times_ = 0;
};

// Notes how many lines of metrics there are whenever one is reported, and may fail then.
class NotingObserver final : public TrainingObserver {
 public:
  NotingObserver(std::filesystem::path metrics, const AbandonedCollectives& collectives, std::function<void()> fail)
      : metrics_(std::move(metrics)), collectives_(collectives), fail_(std::move(fail)) {}
  void metrics_written() override {
    lines_.push_back(std::ranges::count(read_file(metrics_), '\n'));
    if (fail_) fail_();
  }
  void ended() override {
    ++ends_;
    abandoned_before_ = collectives_.times();
  }
  const std::vector<int64_t>& lines() const { return lines_; }
  int ends() const { return ends_; }
  int abandoned_before_the_end() const { return abandoned_before_; }

 private:
  std::filesystem::path metrics_;
  const AbandonedCollectives& collectives_;
  std::function<void()> fail_;
  std::vector<int64_t> lines_;
  int ends_ = 0;
  int abandoned_before_ = 0;
};

Config small_config(const std::filesystem::path& dataset) {
  Config config;
  config.data.path = dataset.string();
  config.model.n_layer = 1;
  config.model.n_head = 2;
  config.model.d_model = 8;
  config.model.d_head = 4;
  config.model.d_inner = 8;
  config.model.mem_len = 4;
  config.training.batch_size = 2;
  config.training.tgt_len = 4;
  config.training.max_step = 6;
  config.training.log_interval = 2;
  config.evaluation = {.interval = 3, .split = "train", .batch_size = 2, .max_tokens = 16};
  return config;
}

class TrainerTest : public testing::Test {
 protected:
  // A run from its start, whose observer fails so at the first line of metrics.
  TrainingOutcome run(const std::function<void()>& fail = nullptr) {
    const StopSignal stop;
    const Dataset dataset(prepare_positions(directory_, 200, 200));
    const Config config = small_config(dataset.directory());
    RunDirectory run(directory_ / "run");
    run.lock();
    run.begin(config, false);
    observer_.emplace(run.metrics(), collectives_, fail);
    const auto job = open_job({});
    kernels::Queue queue(1);
    Logger logger("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    Trainer trainer(config, dataset, run, queue, *job, collectives_, logger);
    trainer.observe(*observer_);
    return trainer.run(stop);
  }

  TemporaryDirectory directory_;
  AbandonedCollectives collectives_;
  std::optional<NotingObserver> observer_;
};

TEST_F(TrainerTest, ItsObserverIsToldOfEveryLineOfMetricsAndOfTheEnd) {
  EXPECT_EQ(run(), TrainingOutcome::kFinished);
  // Lines of training after steps 2, 4 and 6, of evaluations after 3 and 6.
  EXPECT_THAT(observer_->lines(), testing::ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(observer_->ends(), 1);
  EXPECT_EQ(collectives_.times(), 0);
}

TEST_F(TrainerTest, AnErrorAbandonsTheCollectives) {
  EXPECT_THROW(run([] { throw FileError("the disk is full"); }), FileError);
  EXPECT_EQ(collectives_.times(), 1);
  EXPECT_EQ(observer_->ends(), 0);
}

TEST_F(TrainerTest, ALossThatIsNotFiniteAbandonsThemTooAndIsAnEnd) {
  EXPECT_THROW(run([] { throw DivergedError("the loss is not finite"); }), DivergedError);
  EXPECT_EQ(collectives_.times(), 1);
  EXPECT_EQ(observer_->ends(), 1);
  EXPECT_EQ(observer_->abandoned_before_the_end(), 1);
}

}  // namespace
}  // namespace segue
