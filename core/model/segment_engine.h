// Runs segments: keeps one tape for every shape it has met and replays it on the next segment of that shape.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/model/transformer.h"

namespace segue {

// One segment of `streams` streams and the memory it reads and updates.
struct SegmentInputs {
  ConstTensorView tokens;   // [B, T] int32
  ConstTensorView targets;  // [B, T] int32
  ReplayInfo info;
};

class SegmentEngine {
 public:
  // Model, parameters and stream outlive the engine. One arena may serve several engines that take turns.
  SegmentEngine(const Transformer& model, Parameters& parameters, Arena& arena, kernels::Stream& stream,
                Tape::Mode mode);

  // Forward, and in training mode backward (adding to the gradients), then the memory update.
  // Returns the loss of every token [B*T] in nats, valid until the next run.
  std::span<const float> run(const SegmentInputs& inputs, SegmentMemory& memory);

  int64_t tapes() const { return static_cast<int64_t>(tapes_.size()); }

 private:
  struct Recorded {
    SegmentShape shape;
    std::unique_ptr<SegmentTape> segment;
  };
  SegmentTape& tape_for(const SegmentShape& shape);

  const Transformer& model_;
  Parameters& parameters_;
  Arena& arena_;
  kernels::Stream& stream_;
  Tape::Mode mode_;
  std::vector<Recorded> tapes_;
  std::vector<ConstTensorView> hidden_;  // reused by every run
};

}  // namespace segue
