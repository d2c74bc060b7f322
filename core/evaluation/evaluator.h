// Evaluation: the loss of every token of a split, memory carried from segment to segment.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/progress.h"
#include "core/model/segment_engine.h"
#include "data_pipeline/segment_streams.h"
#include "distributed/communicator.h"

namespace segue {

struct EvaluationOptions {
  int64_t batch_size = 1;  // streams the split is cut into; each starts with fresh memory
  int64_t tgt_len = 1;     // tokens per segment
  int64_t max_tokens = 0;  // stop after this many; 0: the whole split
};

// Sums over scored tokens; losses in nats.
struct EvaluationResult {
  double total_nll = 0.0;
  int64_t tokens = 0;
  double loss() const { return total_nll / static_cast<double>(tokens); }
};

class Evaluator {
 public:
  // Called in the first rank after every segment with its targets [B, length] int32 and their losses, stream-major.
  using SegmentSink = std::function<void(ConstTensorView targets, std::span<const float> nll)>;

  // `model` carries the mem_len, clamp_len and same_length of the evaluation; all arguments outlive the evaluator.
  Evaluator(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream,
            Communicator& communicator);

  // Reserves the memory that evaluations with such options need.
  void prepare(const EvaluationOptions& options);

  // Each rank takes its share of the streams; all of them return the sums over all. Sink and progress may be missing
  // (null), the sink in all ranks or in none. Throws ConfigError when there are fewer streams than ranks.
  EvaluationResult run(TokenSource source, const EvaluationOptions& options, const SegmentSink& sink,
                       Progress* progress);

 private:
  // The losses of all ranks' streams, and their targets, given to the sink by the first rank.
  void hand_over(const Segment& segment, std::span<const float> nll, const SegmentSink& sink);

  const Transformer& model_;
  Compute compute_;
  SegmentEngine engine_;
  Communicator& communicator_;
};

}  // namespace segue
