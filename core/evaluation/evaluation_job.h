// Runs an evaluation job: one model, with one pass over the split for each of the lengths asked for.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluation/answer_statistics.h"
#include "core/evaluation/evaluation_settings.h"
#include "core/evaluation/loss_statistics.h"
#include "core/model/stored_model.h"
#include "data_pipeline/dataset.h"
#include "distributed/share.h"

namespace segue {

// The settings that one result is computed with.
struct EvaluationPass {
  EvaluationPoint lengths;
  ModelUse use;  // with these lengths
  ContextRule context;
  std::optional<int64_t> warm_up;  // tokens
  EvaluationPlan plan;
};

struct PassResult {
  EvaluationPass pass;
  LossStatistics statistics;  // in the first rank; empty in the others
  double seconds = 0.0;
  std::optional<double> accuracy = {};           // of single tokens, where only some are scored and the head can tell
  std::optional<UnknownTokens> unknown = {};     // of the scored tokens; none: there is no unknown token
  std::string per_token = {};                    // name of the file; empty: none
  std::vector<float> sample = {};                // losses of the job's sample; NaN: not scored
  std::optional<AnswerStatistics> answers = {};  // of marked data, where the model's head can tell them
  std::optional<AttentionByAge> attention = {};  // if it was asked for
};

class EvaluationJob {
 public:
  // All arguments outlive this. Throws ConfigError naming the keys when lengths are not for this model, and
  // DataError when the split is not there.
  EvaluationJob(const EvaluationSettings& settings, const Checkpoint& checkpoint, const Dataset& dataset,
                kernels::Queue& queue, Job& job);

  // Of the split, where they are told apart; otherwise 0.
  int64_t documents() const { return std::ssize(begins_); }
  int64_t scored_tokens() const;  // of all passes
  const StoredModel& trained() const { return trained_; }
  // A line for each length that was asked for and is more than the split can have: a memory that is never full, since
  // no stream goes on behind it, segments and a warm-up. Documents, examples and windows are as long as they are.
  std::vector<std::string> complaints_of_lengths() const;
  // Tokens from the middle of what is scored, whose losses every result keeps.
  Share sample() const { return sample_; }

  // What a pass takes, before its first segment.
  using Ready = std::function<void(const EvaluationPass& pass, const UseBytes& bytes)>;

  // Every rank takes its share. Per-token files go to `directory`. `progress` hears of the tokens scored so far.
  std::vector<PassResult> run(const std::filesystem::path& directory, const Ready& ready,
                              const Evaluator::Told& progress);

 private:
  std::string complaint_of_memory() const;
  std::string complaint_of_segments() const;
  std::string complaint_of_warm_up() const;
  EvaluationPass make_pass(const EvaluationPoint& lengths) const;
  PassResult run_pass(const EvaluationPass& pass, const Transformer& model, Parameters& parameters, Arena& arena,
                      std::vector<float>& nll, const Ready& ready, const Evaluator::Told& progress);
  EvaluationResult run_watched(Evaluator& evaluator, const EvaluationPass& pass, const Evaluator::Sink& sink,
                               const Evaluator::Told& progress, const Ready& ready);
  void write_losses(PassResult& result, std::vector<float> nll, const std::filesystem::path& directory);
  void add_answers(PassResult& result, std::span<const float> margins);

  const EvaluationSettings& settings_;
  const Checkpoint& checkpoint_;
  const Dataset& dataset_;
  kernels::Queue& queue_;
  Job& job_;
  StoredModel trained_;
  ModelUse use_;  // where a pass says nothing else
  const SplitInfo& split_;
  int64_t tokens_;               // of the split
  std::vector<int64_t> begins_;  // of documents; empty: the split is one text
  std::vector<EvaluationPass> passes_;
  Share sample_;
};

}  // namespace segue
