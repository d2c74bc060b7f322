// metrics.jsonl: one JSON object per line, for programs; the console line, for people.
//
// Every line has the "step" after which it was written, the "time" of day, and in "tokens" those trained on so far.
// Lines of an evaluation name its split in "evaluation", and in "evaluated_tokens" how many had a loss.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "base/json_text.h"
#include "base/log.h"
#include "core/attention/adaptive_span.h"
#include "core/evaluation/loss_units.h"
#include "core/train/gradient_exchange.h"

namespace segue {

// The metrics logged every `log_interval` steps. Rates over the interval.
struct StepMetrics {
  int64_t step = 0;
  MeanLoss loss;  // over the interval
  LossUnits units;
  std::optional<double> accuracy = {};  // share of scored tokens that were the most likely ones; of marked data alone
  double gradient_norm = 0.0;           // of the last step, before clipping
  double learning_rate = 0.0;           // of the last step
  int64_t tokens = 0;                   // trained on so far
  double tokens_per_second = 0.0;
  double flops_per_second = 0.0;               // that the model needs for them, of all ranks
  std::optional<double> mfu = {};              // these as a share of the peak, where it is known
  double seconds = 0.0;                        // of training so far, all sessions of the run together
  std::optional<LearnedSpans> spans = {};      // of a model that learns them
  std::optional<double> reconstruction = {};   // mean over the interval's steps, where a memory learns to compress
  std::optional<double> passes = {};           // mean over the interval's tokens, of a model whose tokens halt
  std::optional<ExchangeTimes> exchange = {};  // of a step, on the first rank of several: the mean, on a GPU the last
};

class MetricsLog {
 public:
  // Opens `path` for appending; lines of steps beyond `resumed_step`, written after the checkpoint that is resumed
  // from, are dropped, and with `evaluation_pending` what that evaluation may have left. Throws FileError.
  MetricsLog(const std::filesystem::path& path, int64_t resumed_step, bool evaluation_pending = false);

  // Throw FileError, a full disk included. The first writes what an evaluation found, `values`, after so much training.
  void write_evaluation(int64_t step, int64_t tokens, const std::string& split, const OrderedJson& values);
  void write(const StepMetrics& metrics);

 private:
  void append(const OrderedJson& line);

  std::filesystem::path path_;
  std::ofstream file_;
};

// "step 1200/4000  loss 1.23  1.77 bits/byte  reconstruction 0.0412  passes 2.31  lr 2.5e-04  |g| 0.31  9,876 tokens/s
// 151.3 GFLOP/s (71% of peak) ETA 3 min 20 s", in one line; `eta` as time_left.h tells it
std::string console_line(const StepMetrics& metrics, int64_t max_step, const std::string& eta);

}  // namespace segue
