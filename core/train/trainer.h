// The training loop: next segment, forward and backward, clip and update, metrics; evaluation and checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "core/evaluation/evaluator.h"
#include "core/optimizer/optimizer.h"
#include "core/train/gradient_exchange.h"
#include "core/train/high_loss_warning.h"
#include "core/train/metrics_log.h"
#include "core/train/peak_rate.h"
#include "core/train/run_directory.h"
#include "core/train/scored_targets.h"
#include "core/train/step_reports.h"
#include "core/train/stop_signal.h"
#include "core/train/stream_group.h"
#include "core/train/time_left.h"
#include "core/train/training_checkpoint.h"
#include "core/train/training_observer.h"
#include "data_pipeline/dataset.h"
#include "data_pipeline/segment_streams.h"
#include "distributed/collectives.h"
#include "distributed/job.h"
#include "distributed/share.h"

namespace segue {

enum class TrainingOutcome : uint8_t { kFinished, kStopped };

class Trainer {
 public:
  // Everything passed in outlives the trainer.
  // Throws ConfigError when the queue's device cannot run such a model in such a precision.
  // One per rank, each with its share of the streams and, after every step, the same weights.
  Trainer(const Config& config, const Dataset& dataset, const RunDirectory& run, kernels::Queue& queue, Job& job,
          Collectives& collectives, Logger& logger);

  // Sets what the run's directory and its checkpoints say of this process; without it, they say nothing.
  void sign_as(MadeBy made_by) { made_by_ = std::move(made_by); }

  // Notified from now on; outlives the trainer.
  void observe(TrainingObserver& observer) { observer_ = &observer; }

  // Weights of another checkpoint of the same shapes; everything else starts fresh.
  void start_from(const Checkpoint& checkpoint);

  // Resumes exactly where the checkpoint was saved. Throws CheckpointError when it belongs to another dataset or model.
  void resume_from(const Checkpoint& checkpoint);

  // Trains to `training.max_step`, or until `stop` is requested; saves in both cases. Throws DivergedError when the
  // loss or the gradient is not finite, on a GPU some steps later, and OutOfMemoryError before the first step.
  TrainingOutcome run(const StopSignal& stop);

 private:
  // Sums since the last log line.
  struct Interval {
    double loss = 0.0;                 // of the steps in which something was scored
    int64_t losses = 0;                // how many these are
    std::optional<int64_t> hits = {};  // scored tokens that were the most likely ones, where the head can tell
    int64_t scored = 0;
    double nll = 0.0;             // of these tokens
    int64_t bytes = 0;            // of text that they stand for; 0: not known
    double reconstruction = 0.0;  // of the same steps
    double passes = 0.0;          // likewise, of the tokens that halt
    double halting_tokens = 0.0;  // how many these are
    int64_t steps = 0;
    int64_t tokens = 0;
    double flops = 0.0;
    double seconds = 0.0;
  };

  TrainingOutcome train(const StopSignal& stop);
  bool goes_on(const StopSignal& stop);  // no rank has been asked to stop
  void train_step(const Segment& segment);
  int64_t forward_backward(const Segment& segment);  // how many targets of all ranks were scored
  void open_logs();
  void sign();
  void warn(const std::string& warning) const;
  void settle();  // waits for the steps queued and takes in their reports
  void reserve_memory();
  void log_step();
  void log_interval();
  StepMetrics interval_metrics() const;  // since the last line; neither share of the peak nor exchange
  void show(const StepMetrics& metrics);
  void publish(const std::function<void()>& write_metrics);  // which the first rank calls
  bool is_due(int64_t interval) const { return interval > 0 && state_.step % interval == 0; }
  bool is_evaluation_due() const;
  // Evaluates and saves as is due. False when the run is asked to stop during the evaluation, which then stays pending.
  bool evaluate_and_save(const StopSignal& stop);
  std::optional<EvaluationResult> result_unless(const StopSignal& stop);
  std::optional<bool> evaluate(const StopSignal& stop);  // whether it is the best so far, if it was made
  void save(bool is_best);
  void enter_stage_of(int64_t step);
  double measure_flops_per_token();  // of a training step with full memory
  void log_plan() const;
  void log_segments() const;
  void log_memory(int64_t activations);
  void log_evaluated_streams() const;
  TrainingParts parts() { return {parameters_, optimizer_, groups_, state_}; }

  const Config& config_;
  const Dataset& dataset_;
  const RunDirectory& run_;
  CheckpointStore store_;
  Logger& logger_;
  kernels::Queue& queue_;
  Job& job_;
  Collectives& collectives_;
  Share streams_;  // of the global batch

  Transformer model_;
  Parameters parameters_;
  Buckets buckets_;
  Optimizer optimizer_;
  std::unique_ptr<GradientExchange> exchange_;  // when there are other ranks
  Arena arena_;
  SegmentEngine engine_;
  Evaluator evaluator_;
  std::vector<StreamGroup> groups_;
  SegmentStreams segments_;
  StageLengths lengths_;  // of its segments and of the groups' memories
  double lr_factor_ = 1.0;
  ScoredTargets scored_targets_;
  StepReports reports_;
  HighLossWarning high_loss_warning_;
  JobPeak peak_;
  PauseCosts pause_costs_;
  std::unique_ptr<MetricsLog> metrics_;
  TrainingObserver* observer_ = nullptr;

  std::vector<TextFile> further_files_;  // for the checkpoints: tokenizer, made_by; held by the first rank
  std::optional<MadeBy> made_by_;
  TrainingState state_;
  int64_t shown_step_ = -1;            // of the last line about training
  int64_t first_step_ = 0;             // of this process
  std::optional<int64_t> saved_step_;  // whose state there is a checkpoint of
  Interval interval_;
  bool tells_hits_ = false;  // the model's head
  double flops_per_token_ = 0.0;
  double gradient_norm_ = 0.0;  // of the last step
  double learning_rate_ = 0.0;  // of the last step
};

}  // namespace segue
