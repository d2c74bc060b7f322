#include "core/train/scored_targets.h"

#include <algorithm>

#include "core/model/transformer.h"
#include "data_pipeline/token_mark.h"

namespace segue {

SegmentShape training_shape(const Config& config, int64_t streams) {
  return training_shape(config, last_lengths(config), streams);
}

SegmentShape training_shape(const Config& config, const StageLengths& lengths, int64_t streams) {
  ModelUse use = use_of(config.model);
  use.mem_len = lengths.mem_len;
  SegmentShape shape =
      full_segment(config.model, use, streams, lengths.tokens(), scored_tokens(config.training, lengths.tokens()));
  shape.segment_length = lengths.length_among_several();
  shape.documents = !config.data.document_boundary.empty();
  shape.window_share = lengths.window_share;
  shape.recompute = config.training.recompute;
  shape.bounded_ahead = shape.documents && use.ahead;
  return shape;
}

int64_t count_scored(ConstTensorView targets) {
  const int32_t* const first = targets.as<int32_t>();
  return std::count_if(first, first + targets.elements(), [](int32_t target) { return target != kUnscoredTarget; });
}

ScoredTargets::ScoredTargets(const TrainingConfig& training, int64_t streams) : training_(training) {
  const int64_t scored = scored_tokens(training, training.tgt_len);
  if (scored < training.tgt_len) block_ = OwnedTensor(DType::kInt32, {streams * scored});
}

ConstTensorView ScoredTargets::of(ConstTensorView targets) {
  const int64_t streams = targets.shape[0];
  const int64_t length = targets.shape[1];
  const int64_t scored = scored_tokens(training_, length);
  if (scored == length) return targets;
  const TensorView newest = block_.view().rows(0, streams * scored).reshaped({streams, scored});
  for (int64_t b = 0; b < streams; ++b)
    std::copy_n(targets.as<int32_t>() + (b + 1) * length - scored, scored, newest.as<int32_t>() + b * scored);
  return newest;
}

int64_t ScoredTargets::bytes(const Segment& segment) const {
  if (segment.bytes.empty()) return 0;
  const int64_t first = segment.length - scored_tokens(training_, segment.length);
  int64_t bytes = 0;
  for (int64_t i = 0; i < segment.targets.elements(); ++i)
    if (i % segment.length >= first && segment.targets.as<int32_t>()[i] != kUnscoredTarget)
      bytes += segment.bytes.as<int32_t>()[i];
  return bytes;
}

}  // namespace segue
