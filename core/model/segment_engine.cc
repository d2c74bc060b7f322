// Look up or record the tape, bind, replay, update the memory.
#include "core/model/segment_engine.h"

#include <algorithm>

namespace segue {

SegmentEngine::SegmentEngine(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream,
                             Tape::Mode mode)
    : model_(model), parameters_(parameters), arena_(arena), stream_(stream), mode_(mode) {}

SegmentTape& SegmentEngine::tape_for(const SegmentShape& shape) {
  const auto found = std::find_if(tapes_.begin(), tapes_.end(), [&](const Recorded& r) { return r.shape == shape; });
  if (found != tapes_.end()) return *found->segment;
  tapes_.push_back({shape, model_.record(arena_, mode_, parameters_, shape)});
  return *tapes_.back().segment;
}

std::span<const float> SegmentEngine::run(const SegmentInputs& inputs, SegmentMemory& memory) {
  SegmentTape& segment = tape_for(
      {.streams = inputs.tokens.shape[0], .tgt_len = inputs.tokens.shape[1], .memory_length = memory.length()});
  Tape& tape = segment.tape;
  tape.bind(segment.tokens, inputs.tokens);
  tape.bind(segment.targets, inputs.targets);
  for (size_t l = 0; l < segment.memories.size(); ++l)
    tape.bind(segment.memories[l], memory.layer(static_cast<int64_t>(l)));
  tape.info() = inputs.info;

  tape.forward(stream_);
  if (tape.training()) tape.backward(stream_);
  hidden_.clear();
  for (const Slot slot : segment.hidden) hidden_.push_back(tape.read(slot));
  memory.update(stream_, hidden_);

  const ConstTensorView nll = tape.read(segment.nll);
  return {nll.as<float>(), static_cast<size_t>(nll.elements())};
}

}  // namespace segue
