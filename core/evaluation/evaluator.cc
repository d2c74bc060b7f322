// One pass over a split.
#include "core/evaluation/evaluator.h"

#include <cstring>
#include <numeric>
#include <utility>

namespace segue {

namespace {

Share my_streams(const Communicator& communicator, int64_t streams) {
  if (streams < communicator.size()) {
    throw ConfigError("evaluation: expected a batch of at least {} streams, one for each rank, found {}",
                      communicator.size(), streams);
  }
  return share_of(streams, communicator.size(), communicator.rank());
}

std::string_view bytes_of(ConstTensorView view) {
  return {reinterpret_cast<const char*>(view.data), static_cast<size_t>(view.bytes())};
}

// The ranks' rows one after another, as they were before they were shared out.
OwnedTensor join(const std::vector<std::string>& parts, DType dtype, const Shape& shape) {
  OwnedTensor whole(dtype, shape);
  std::byte* to = whole.view().data;
  for (const std::string& part : parts) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
  return whole;
}

}  // namespace

Evaluator::Evaluator(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream,
                     Communicator& communicator)
    : model_(model),
      compute_(parameters.compute()),
      engine_(model, parameters, arena, stream, Tape::Mode::kEvaluation),
      communicator_(communicator) {}

void Evaluator::prepare(const EvaluationOptions& options) {
  engine_.prepare({.streams = my_streams(communicator_, options.batch_size).count,
                   .tgt_len = options.tgt_len,
                   .memory_length = model_.config().mem_len});
}

EvaluationResult Evaluator::run(TokenSource source, const EvaluationOptions& options, const SegmentSink& sink,
                                Progress* progress) {
  const Share mine = my_streams(communicator_, options.batch_size);
  SegmentStreams streams(std::move(source), {.streams = options.batch_size,
                                             .first_stream = mine.first,
                                             .local_streams = mine.count,
                                             .segment_length = options.tgt_len,
                                             .repeat = false});
  SegmentMemory memory = model_.make_memory(mine.count, compute_);
  EvaluationResult result;
  while (const Segment* segment = streams.next()) {
    const std::span<const float> nll =
        engine_.run({.tokens = segment->tokens, .targets = segment->targets, .info = {}}, memory);
    result.total_nll = std::accumulate(nll.begin(), nll.end(), result.total_nll);
    result.tokens += options.batch_size * segment->length;
    if (sink) hand_over(*segment, nll, sink);
    if (progress != nullptr) progress->advance_to(result.tokens);
    if (options.max_tokens > 0 && result.tokens >= options.max_tokens) break;
  }
  communicator_.sum({&result.total_nll, 1});
  return result;
}

void Evaluator::hand_over(const Segment& segment, std::span<const float> nll, const SegmentSink& sink) {
  if (communicator_.size() == 1) return sink(segment.targets, nll);
  const ConstTensorView losses = view_of(nll.data(), segment.targets.shape);
  const std::vector<std::string> targets_of_ranks = communicator_.gather(bytes_of(segment.targets));
  const std::vector<std::string> losses_of_ranks = communicator_.gather(bytes_of(losses));
  if (!communicator_.is_first()) return;
  int64_t streams = 0;
  for (const std::string& part : losses_of_ranks)
    streams += static_cast<int64_t>(part.size()) / (segment.length * bytes_of(DType::kFloat32));
  const Shape shape{streams, segment.length};
  const OwnedTensor all_targets = join(targets_of_ranks, DType::kInt32, shape);
  const OwnedTensor all_losses = join(losses_of_ranks, DType::kFloat32, shape);
  sink(all_targets.view(), {all_losses.as<float>(), static_cast<size_t>(shape.elements())});
}

}  // namespace segue
