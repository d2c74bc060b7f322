// The memory that compresses, of frozen weights: its keys and values are made once a segment, of hidden states that are
// kept beside them: compressed rows are made of hidden states, and a position that says where keys stand says it by
// rows, of which several become one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/memory/compressed_memory.h"
#include "core/memory/remade_cache.h"

namespace segue {

class CompressedCache final : public RemadeCache {
 public:
  // For segments of `tgt_len` tokens.
  CompressedCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

  void reset() override;
  int64_t bytes() const override;

 private:
  struct Recorded {
    SegmentShape shape;
    std::vector<std::unique_ptr<MemoryTape>> layers;
  };
  int64_t make_memory() override;
  void take_in(kernels::Queue& queue, const SegmentTape& part, int64_t position) override;
  void end_segment(kernels::Queue& queue) override;
  Recorded& recorded_for(const SegmentShape& shape);

  CompressedMemory memory_;              // up to the segment
  std::vector<OwnedTensor> inputs_;      // per layer [B, tgt_len, D]: of the segment so far
  std::vector<OwnedTensor> compressed_;  // per layer: of the rows that the segment pushes out
  std::vector<Recorded> tapes_;
  SegmentShape shape_;  // of the segment that has begun
};

}  // namespace segue
