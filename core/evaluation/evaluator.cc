// One pass over a split.
#include "core/evaluation/evaluator.h"

#include <numeric>
#include <utility>

namespace segue {

Evaluator::Evaluator(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream)
    : model_(model),
      compute_(parameters.compute()),
      engine_(model, parameters, arena, stream, Tape::Mode::kEvaluation) {}

void Evaluator::prepare(const EvaluationOptions& options) {
  engine_.prepare(
      {.streams = options.batch_size, .tgt_len = options.tgt_len, .memory_length = model_.config().mem_len});
}

EvaluationResult Evaluator::run(TokenSource source, const EvaluationOptions& options, const SegmentSink& sink,
                                Progress* progress) {
  SegmentStreams streams(std::move(source), {.streams = options.batch_size,
                                             .local_streams = options.batch_size,
                                             .segment_length = options.tgt_len,
                                             .repeat = false});
  SegmentMemory memory = model_.make_memory(options.batch_size, compute_);
  EvaluationResult result;
  while (const Segment* segment = streams.next()) {
    const std::span<const float> nll =
        engine_.run({.tokens = segment->tokens, .targets = segment->targets, .info = {}}, memory);
    result.total_nll = std::accumulate(nll.begin(), nll.end(), result.total_nll);
    result.tokens += std::ssize(nll);
    if (sink) sink(*segment, nll);
    if (progress != nullptr) progress->advance_to(result.tokens);
    if (options.max_tokens > 0 && result.tokens >= options.max_tokens) break;
  }
  return result;
}

}  // namespace segue
