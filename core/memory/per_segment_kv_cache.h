// A KV cache that is computed anew before every segment, from what the kind of memory remembers then. It serves frozen
// weights. A segment may come in any number of parts: each sees this cache and the segment so far.
#pragma once

#include <cstdint>
#include <vector>

#include "core/memory/memory.h"
#include "core/memory/position_ids.h"
#include "core/model/transformer.h"

namespace segue {

class PerSegmentKvCache : public FrozenMemory {
 public:
  // For segments of `tgt_len` tokens after at most `most_memory_rows` rows of memory in each layer. The weights must
  // not change while this memory is in use.
  PerSegmentKvCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len, int64_t most_memory_rows);

  void fit(SegmentShape& shape) const override;
  bool is_settled() const override { return false; }
  void bind(SegmentTape& segment) override;
  // Throws ContractError when the part goes beyond the end of its segment.
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void reset() override { position_ = 0; }

  int64_t position() const override { return position_; }
  int64_t bytes() const override;

 protected:
  const ModelInUse& in_use() const { return in_use_; }
  int64_t streams() const { return streams_; }
  int64_t tgt_len() const { return tgt_len_; }
  // Before a segment: makes the keys and values of its memory, a call of take_over for each layer, and returns how many
  // rows a layer has of them.
  virtual int64_t make_memory() = 0;
  void take_over(int64_t l, ConstTensorView kv);  // [B, R, 2*N*H]
  // After a part that began at `position` of its segment; and after the last one.
  virtual void take_in(kernels::Queue& queue, const SegmentTape& part, int64_t position) = 0;
  virtual void end_segment(kernels::Queue& queue) = 0;

 private:
  ModelInUse in_use_;
  int64_t streams_;
  int64_t tgt_len_;
  int64_t most_memory_rows_;
  std::vector<OwnedTensor> distances_;  // per layer [P, N*H], or nothing
  std::vector<OwnedTensor>
      keys_;  // per layer [B, most_memory_rows + tgt_len, 2*N*H]: of the memory, then of the segment
  PositionIds positions_;
  int64_t memory_rows_ = 0;  // of the segment that has begun
  int64_t position_ = 0;     // tokens of it so far
};

}  // namespace segue
