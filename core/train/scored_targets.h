// The part of each segment that training learns from (`training.loss_part`).
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "core/config/config.h"
#include "core/kinds/segment_tape.h"
#include "data_pipeline/segment_streams.h"

namespace segue {

// The shape that a training tape of so many streams is recorded for in the end, with a full memory.
SegmentShape training_shape(const Config& config, int64_t streams);
// The same of a stage with other lengths.
SegmentShape training_shape(const Config& config, const StageLengths& lengths, int64_t streams);

// How many targets there are but kUnscoredTarget.
int64_t count_scored(ConstTensorView targets);

// The targets of a segment's newest tokens, put side by side.
class ScoredTargets {
 public:
  ScoredTargets(const TrainingConfig& training, int64_t streams);

  // [B, T] -> [B, S], valid until the next call; nothing is allocated.
  ConstTensorView of(ConstTensorView targets);

  // Of text that these targets of the segment stand for; 0 where it is not known.
  int64_t bytes(const Segment& segment) const;

 private:
  const TrainingConfig& training_;
  OwnedTensor block_;  // none when all are scored
};

}  // namespace segue
