// Evaluation: the loss of every token of a split, memory carried from segment to segment.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>

#include "base/progress.h"
#include "core/model/segment_engine.h"
#include "data_pipeline/segment_streams.h"

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
  double perplexity() const { return std::exp(loss()); }
  double bits_per_token() const { return loss() / std::numbers::ln2; }
};

class Evaluator {
 public:
  // Called after every segment with the loss of its tokens, [B, length] stream-major.
  using SegmentSink = std::function<void(const Segment& segment, std::span<const float> nll)>;

  // `model` carries the mem_len, clamp_len and same_length of the evaluation; all arguments outlive the evaluator.
  Evaluator(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream);

  // Reserves the memory that evaluations with such options need.
  void prepare(const EvaluationOptions& options);

  // Sink and progress may be missing (null).
  EvaluationResult run(TokenSource source, const EvaluationOptions& options, const SegmentSink& sink,
                       Progress* progress);

 private:
  const Transformer& model_;
  Compute compute_;
  SegmentEngine engine_;
};

}  // namespace segue
