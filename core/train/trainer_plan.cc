// What a trainer tells before its first step: what it holds, what a step is, and what of the config has no effect.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "base/memory_limit.h"
#include "base/text.h"
#include "core/config/memory_row.h"
#include "core/model/reach.h"
#include "core/train/stages.h"
#include "core/train/trainer.h"
#include "core/train/training_plan.h"

namespace segue {

void Trainer::log_memory(int64_t activations) {
  const RankMemory memory = memory_of(config_.optimizer, parameters_, buckets_, groups_, activations);
  logger_.info("memory {} on {}: weights {}, gradients {}, optimizer {}, segment memory {}, activations {}",
               human_bytes(memory.total()), name_of(queue_.device()), human_bytes(memory.weights),
               human_bytes(memory.gradients), human_bytes(memory.optimizer), human_bytes(memory.segment_memory),
               human_bytes(memory.activations));
  if (queue_.device().is_cuda()) return;  // which refuses what it has no room for
  int64_t of_host = 0;
  for (const std::string& rank : job_.gather(fmt::format("{} {}", job_.host(), memory.total())))
    if (const size_t end = rank.rfind(' '); rank.substr(0, end) == job_.host()) of_host += std::stoll(rank.substr(end));
  const std::string complaint = complaint_of_memory(of_host, remedy_for_memory(config_));
  if (!complaint.empty()) warn("training takes " + complaint);
}

// Steps end where a text does; and what is written is learned through a later segment of the same step.
void Trainer::log_segments() const {
  const StageLengths last = last_lengths(config_);
  const bool has_short = std::ranges::any_of(config_.training.stages, [](auto& s) { return s.segments_per_step == 1; });
  if (row_of(config_.model.memory.kind).learns_from_later_segments && (last.segments == 1 || has_short))
    warn(
        fmt::format("training.{}segments_per_step: 1 with model.memory.{}: {}layers do not learn to write, which they "
                    "do only through a later segment of the same step",
                    last.segments == 1 ? "" : "stages[].", said_kind(config_.model.memory),
                    last.segments == 1 ? "" : "meanwhile "));
  if (last.segments == 1) return;
  const std::string_view text = dataset_.split_info(config_.data.train_split).examples ? "an example" : "an epoch";
  const int64_t segments = (segments_.targets_per_text() + last.tgt_len - 1) / last.tgt_len;
  const int64_t left = segments % last.segments;
  if (segments < last.segments)
    warn(
        fmt::format("training.segments_per_step: {} has {} segments of {} tokens, expected at least {}: its only step "
                    "has no more",
                    text, segments, last.tgt_len, last.segments));
  else if (left > 0)
    logger_.info("a step of {} segments: {} has {}, so that the last step of {} has {}", last.segments, text,
                 human_count(segments), text, left);
}

// Such an evaluation would tell little of what memory is worth.
void Trainer::log_evaluated_streams() const {
  const EvaluationConfig& evaluation = config_.evaluation;
  if (evaluation.interval == 0 || dataset_.split_info(evaluation.split).examples) return;
  if (!document_boundary(config_, dataset_).empty()) return;
  const int64_t longest = evaluation_plan(config_, dataset_).longest_lane();
  const int64_t mem_len = evaluation_mem_len(config_);
  if (longest > mem_len) return;
  warn(
      fmt::format("evaluation.batch_size: the longest of {} in split {} has {}, no more than the memory of {}, which "
                  "never fills: lower it{}",
                  counted(evaluation.batch_size, "stream"), evaluation.split, counted(longest, "token"), mem_len,
                  evaluation.max_tokens > 0 ? " or raise evaluation.max_tokens" : ""));
}

void Trainer::log_plan() const {
  const int64_t streams = config_.training.batch_size;
  const std::string shares =
      job_.size() == 1 ? ""
                       : fmt::format(" ({} ranks over {}, {} here)", job_.size(), collectives_.name(), streams_.count);
  const std::string scored = config_.training.loss_part == LossPart::kFull
                                 ? ""
                                 : fmt::format(", the newest {} of them learned from",
                                               scored_tokens(config_.training, config_.training.tgt_len));
  const StageLengths last = last_lengths(config_);
  const std::string tokens = last.segments == 1 ? counted(last.tgt_len, "token")
                                                : fmt::format("{} times {} tokens", last.segments, last.tgt_len);
  const std::optional<int64_t> reach = reach_in_tokens(config_.model, use_of(config_.model), last.tgt_len);
  logger_.info("{} parameters, vocabulary {}{}, {} of {} a step{}{}, reach {}", human_count(parameters_.count()),
               dataset_.vocabulary(), config_.model.objective.is_masked() ? " and a mask token" : "",
               counted(streams, "stream"), tokens, scored, shares, reach ? counted(*reach, "token") : "without limit");
  log_segments();
  log_evaluated_streams();
  if (config_.schedule.warmup_step >= config_.training.max_step)
    warn(fmt::format(
        "schedule.warmup_step: a warm-up of {} is not over when training ends, after {}: the schedule's learning "
        "rate stays below {}",
        counted(config_.schedule.warmup_step, "step"), config_.training.max_step, config_.optimizer.lr));
}

}  // namespace segue
