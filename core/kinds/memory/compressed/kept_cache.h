// The memory that compresses, for frozen weights. It keeps hidden states beside its keys and values, and makes these
// once a segment: compressed rows are made of hidden states, and positions of keys count rows, of which several become
// one. Rows that are kept by the attention that they received are chosen by the attention of all parts of the
// segment.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/kinds/memory/compressed/compressing_memory.h"
#include "core/kinds/memory/compressed/kept_rows.h"
#include "core/memory/per_segment_kv_cache.h"

namespace segue {

class CompressedCache final : public PerSegmentKvCache {
 public:
  // For segments of `tgt_len` tokens.
  CompressedCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

  void fit(SegmentShape& shape) const override;
  void bind(SegmentTape& segment) override;
  void reset() override;
  int64_t bytes() const override;

 private:
  struct Recorded {
    SegmentShape shape;
    std::vector<std::unique_ptr<MemoryTape>> before;     // per layer
    std::vector<std::unique_ptr<CompressedTape>> after;  // likewise, where rows are pushed out
  };
  int64_t make_memory() override;
  void take_in(kernels::Queue& queue, const SegmentTape& part, int64_t position) override;
  void end_segment(kernels::Queue& /*queue*/) override { has_ended_ = true; }
  void take_in_segment();
  Recorded& recorded_for(const SegmentShape& shape);
  ConstTensorView received_so_far(size_t layer, int64_t rows) const;

  CompressedMemory memory_;            // up to the segment, or to the one before until the next one begins
  std::vector<OwnedTensor> inputs_;    // per layer [B, tgt_len, D]: of the segment so far
  std::vector<OwnedTensor> received_;  // per layer [B, N, R], of [B, N, pushed out] numbers the first: likewise, where
                                       // rows are chosen by them
  std::vector<Recorded> tapes_;
  SegmentShape shape_;  // of the segment that has begun
  bool has_ended_ = false;
};

}  // namespace segue
