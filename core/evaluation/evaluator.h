// Runs an evaluation plan with one model, and reports every scored loss with its offset in the split.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/engine/segment_engine.h"
#include "core/evaluation/attention_by_age.h"
#include "core/evaluation/evaluation_batch_reader.h"
#include "core/evaluation/evaluation_plan.h"
#include "core/evaluation/loss_units.h"
#include "distributed/job.h"

namespace segue {

// Sums over scored tokens; losses in nats.
struct EvaluationResult {
  double total_nll = 0.0;
  int64_t tokens = 0;
  // That were the most likely ones; of marked data and of masked models, where the head can tell.
  std::optional<int64_t> hits = {};
  std::optional<double> accuracy() const {
    return hits ? std::optional(static_cast<double>(*hits) / static_cast<double>(tokens)) : std::nullopt;
  }
  std::optional<int64_t> bytes = {};  // of text that these tokens stand for, where they are known
  // Of these tokens, those that are the unknown one, where the vocabulary has it.
  std::optional<int64_t> unknown = {};
  std::optional<UnknownTokens> unknown_tokens() const {
    return unknown ? std::optional(UnknownTokens{.count = *unknown, .scored = tokens}) : std::nullopt;
  }
  MeanLoss loss() const { return mean_loss(total_nll, tokens, bytes); }
  std::optional<AttentionByAge> attention = {};  // if it was asked for
};

// Losses of consecutive tokens of a split, of one segment of one lane.
struct ScoredTokens {
  int64_t offset = 0;    // of the first of them in the split
  int64_t position = 0;  // of the row that foretold it in its segment
  int64_t before = 0;    // rows of its lane before that segment
  std::span<const float> nll;
  std::span<const float> margin = {};   // of logits, as TokenLosses has it; none of heads that cannot tell it
  std::span<const int32_t> bytes = {};  // of text that each stands for; none where they are not known
};

class Evaluator {
 public:
  // Called in the first rank with the losses of all of them.
  using Sink = std::function<void(const ScoredTokens& scored)>;
  // Called after every segment with the number of tokens so far that the plan scores, of all ranks.
  using Told = std::function<void(int64_t tokens)>;
  // Called before the first segment with what this rank takes on its device while it evaluates; nothing without lanes.
  using Ready = std::function<void(const UseBytes& bytes)>;
  // Whether this rank has been asked to stop.
  using Asked = std::function<bool()>;

  // The job outlives the evaluator. A KV cache is faster than what training keeps, and takes more memory. Throws
  // ContractError when it is to tell the attention that its rows receive, which it cannot.
  Evaluator(const ModelInUse& in_use, Job& job, EvaluationMemory memory = EvaluationMemory::kAsTrained,
            bool tells_attention = false);

  // Reserves the memory that such a plan of such a split needs with what training keeps.
  void prepare(const EvaluationPlan& plan, const SplitInfo& split);

  // Each rank takes its share of the lanes, which is none where there are more ranks than lanes; all of them return the
  // sums over all. Of what the plan scores, marked data scores what is marked and a masked model what it masks. Sink,
  // progress and ready may be missing (null), the sink in all ranks or in none. Throws DataError when nothing is
  // scored, and DivergedError naming the split and the token of it whose loss is not finite.
  EvaluationResult run(TokenSource source, const EvaluationPlan& plan, const Sink& sink, const Told& progress,
                       const Ready& ready = nullptr);

  // The same without listeners, given up in all ranks as soon as `stop` says so in one: it is asked before every
  // segment. Then there is no result.
  std::optional<EvaluationResult> run_unless(const Asked& stop, TokenSource source, const EvaluationPlan& plan);

 private:
  struct Listeners {
    Sink sink;
    Told progress;
    Ready ready;
    Asked stop;
  };
  struct Run;
  struct Part;
  SegmentShape largest_segment(const EvaluationPlan& plan, int64_t lanes, bool has_marks) const;
  std::optional<EvaluationResult> run_until(const Listeners& listeners, TokenSource source, const EvaluationPlan& plan);
  bool is_stopped(const Asked& stop);
  bool run_group(Run& run, int64_t index);  // false: stopped
  void run_part(Run& run, const Part& part);
  HostLosses losses_of(Run& run, const Part& part);  // in this rank's lanes
  void add_attention(Run& run, const Part& part, std::span<const ConstTensorView> received);
  // The losses of all ranks' lanes, given to the sink by the first. `bytes`: of the targets of this rank's.
  void hand_over(const Part& part, const HostLosses& losses, std::span<const int32_t> bytes, const Sink& sink);

  ModelInUse in_use_;
  EvaluationMemory memory_;
  bool tells_attention_;
  SegmentEngine engine_;
  Job& job_;
  std::optional<Masking> masking_;
};

}  // namespace segue
