// A short run of a small model, as the tests of training on devices and in precisions compare it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/optimizer/optimizer.h"
#include "core/train/step_reports.h"
#include "core/train/training_checkpoint.h"
#include "tests/core/model/model_problem.h"

namespace segue {

constexpr int64_t kStreams = 3;
constexpr int64_t kTgtLen = 7;
constexpr int64_t kMostSteps = 6;
constexpr int64_t kSteps = 3;  // empty, part of and full memories; an emulated GPU takes its time
constexpr Compute kCpu{};

// A run of two stream groups, its steps queued one behind the other. Adam's epsilon is so large that gradients of zero
// but for rounding, such as those of a query that sees one key, are not divided by their own size: that moves weights
// by lr.
struct SmallRun {
  SmallRun(const ModelConfig& config, const Compute& compute)
      : problem(config, kStreams, kMostSteps * kTgtLen, compute),
        optimizer({.epsilon = 1e-5, .clip = 0.25}, problem.parameters, problem.queue),
        engine(problem.engine(Tape::Mode::kTraining)),
        groups(make_stream_groups(problem.model.config(), use_of(problem.model.config()), {0, kStreams}, 2, compute)),
        reports({.tokens = kStreams * kTgtLen, .capacity = kMostSteps}, compute.device) {}

  void queue_step(int64_t step) {
    const OwnedTensor tokens = columns_of(problem.tokens, step * kTgtLen, kTgtLen);
    const OwnedTensor targets = columns_of(problem.targets, step * kTgtLen, kTgtLen);
    const OwnedTensor reach = reach_of_step(step);
    problem.parameters.clear_gradients(problem.queue);
    for (StreamGroup& group : groups) {
      const ReplayInfo info{.seed = 5,
                            .step = static_cast<uint64_t>(step + 1),
                            .first_stream = group.first,
                            .loss_scale = 1.0F / (kStreams * kTgtLen),
                            .stream_share = 1.0F / kStreams};
      const TokenLosses losses =
          engine.queue({.tokens = tokens.view().rows(group.first, group.count),
                        .targets = targets.view().rows(group.first, group.count),
                        .info = info,
                        .reach = tells_documents ? reach.view().rows(group.first, group.count) : ConstTensorView(),
                        .segment_length = segment_length,
                        .recompute = recompute},
                       *group.memory);
      reports.add_losses(problem.queue, losses.nll);
    }
    optimizer.step(0.01);
    reports.end_step(problem.queue, step, kStreams * kTgtLen, kStreams * kTgtLen, optimizer.outcome());
  }

  // Documents of 9 tokens, which begin elsewhere in every stream.
  static OwnedTensor reach_of_step(int64_t step) {
    OwnedTensor reach(DType::kInt32, {kStreams, kTgtLen});
    for (int64_t b = 0; b < kStreams; ++b) {
      for (int64_t i = 0; i < kTgtLen; ++i)
        reach.as<int32_t>()[b * kTgtLen + i] = static_cast<int32_t>((step * kTgtLen + i + 4 * b) % 9);
    }
    return reach;
  }

  std::vector<StepReport> train(int64_t begin, int64_t end) {
    for (int64_t step = begin; step < end; ++step) queue_step(step);
    const auto read = reports.read(problem.queue);
    return {read.begin(), read.end()};
  }

  TrainingParts parts() { return {problem.parameters, optimizer, groups, state}; }

  ModelProblem problem;
  Optimizer optimizer;
  SegmentEngine engine;
  std::vector<StreamGroup> groups;
  StepReports reports;
  TrainingState state;
  bool tells_documents = false;
  int64_t segment_length = 0;  // of the segments of a step, if it has several
  Recompute recompute = Recompute::kNone;
};

inline ModelConfig with_dropout(const ModelVariant& variant) {
  ModelConfig config = variant.config();
  config.dropout = 0.3;
  config.dropatt = 0.2;
  return config;
}

// bfloat16 keeps 8 bits of a number; losses are sums of many.
constexpr double kTrainedLossInBFloat16 = 0.03;

inline void expect_losses(const std::vector<StepReport>& found, const std::vector<StepReport>& expected, double share) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].step, expected[i].step);
    EXPECT_NEAR(found[i].loss(), expected[i].loss(), share * expected[i].loss()) << i;
  }
}

class TrainingFolder {
 public:
  TrainingFolder() : path_(std::filesystem::temp_directory_path() / ("segue-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
  }
  ~TrainingFolder() { std::filesystem::remove_all(path_); }
  TrainingFolder(const TrainingFolder&) = delete;
  TrainingFolder& operator=(const TrainingFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void expect_equal_runs(SmallRun& a, SmallRun& b) {
  for (const auto& [left, right] : {std::pair(a.problem.parameters.values(), b.problem.parameters.values()),
                                    std::pair(a.problem.parameters.compute_copy(), b.problem.parameters.compute_copy()),
                                    std::pair(a.optimizer.moment(0), b.optimizer.moment(0)),
                                    std::pair(a.optimizer.moment(1), b.optimizer.moment(1))}) {
    const Device device = a.problem.queue.device();
    kernels::expect_identical("block", HostTensor(left, device).view(), HostTensor(right, device).view());
  }
}

inline void expect_resumes_bit_for_bit(const ModelVariant& variant, const Compute& compute) {
  SCOPED_TRACE(variant.name);
  const ModelConfig config = with_dropout(variant);
  const TrainingFolder folder;
  CheckpointStore store(folder.path());
  SmallRun whole(config, compute);
  whole.train(0, 2);
  whole.state.step = 2;
  whole.state.optimizer_step = whole.optimizer.steps();
  const auto alone = open_job({});
  save_training(store, whole.parts(), {}, {.model = config, .vocab_size = 23, .tgt_len = kTgtLen, .tokenizer = {}}, {},
                *alone);
  const std::vector<StepReport> expected = whole.train(2, kSteps);

  SmallRun resumed(config, compute);
  restore_training(*store.newest_intact().checkpoint, resumed.parts(), kStreams);
  expect_losses(resumed.train(2, kSteps), expected, 0.0);
  expect_equal_runs(whole, resumed);
}

// A run that is saved after two steps, and another that resumes there, with parameters that stay in a range and with
// every kind of memory.
inline void expect_resumes_bit_for_bit(const Compute& compute) {
  expect_resumes_bit_for_bit(model_variants().front(), compute);
  expect_resumes_bit_for_bit(model_variant("visibility_adaptive"), compute);
  for (const ModelVariant& variant : memory_variants()) expect_resumes_bit_for_bit(variant, compute);
}

}  // namespace segue
