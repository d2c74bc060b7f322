// The memory that compresses, of frozen weights: its keys and values are made once a segment, however many parts this
// comes in, of hidden states that are kept beside them: compressed rows are made of hidden states, and a position that
// says where keys stand says it by rows, of which several become one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "core/memory/compressed_memory.h"
#include "core/memory/part_positions.h"
#include "core/model/transformer.h"

namespace segue {

class CompressedCache final : public FrozenMemory {
 public:
  // For segments of `tgt_len` tokens. The weights must not change while this memory is in use.
  CompressedCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

  void fit(SegmentShape& shape) const override;
  bool is_settled() const override { return false; }
  void bind(SegmentTape& segment) override;
  // Throws ContractError when the part goes beyond the end of its segment.
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void reset() override;

  int64_t position() const override { return position_; }
  int64_t bytes() const override;

 private:
  struct Recorded {
    SegmentShape shape;
    std::vector<std::unique_ptr<MemoryTape>> layers;
  };
  void begin_segment();
  Recorded& recorded_for(const SegmentShape& shape);

  ModelInUse in_use_;
  int64_t streams_;
  int64_t tgt_len_;
  CompressedMemory memory_;              // up to the segment
  std::vector<OwnedTensor> distances_;   // per layer [P, N*H], or nothing
  std::vector<OwnedTensor> keys_;        // per layer [B, capacity, 2*N*H]: of the memory, then of the segment so far
  std::vector<OwnedTensor> inputs_;      // per layer [B, tgt_len, D]: of the segment so far
  std::vector<OwnedTensor> compressed_;  // per layer: of the rows that the segment pushes out
  PartPositions positions_;
  std::vector<Recorded> tapes_;
  SegmentShape shape_;    // of the segment that has begun
  int64_t position_ = 0;  // tokens of it so far
};

}  // namespace segue
