// The KV cache, the memory of frozen weights. Keys and values are made once, where hidden states would be multiplied by
// the same weights in every segment. So are the rows of distances. The numbers are the same up to rounding.
//
// A segment may also come in parts, token by token when text is generated: each part sees the memory that its segment
// began with and what came of the segment so far, as if the segment had been read whole. Memory tokens are read with
// its first part and written with its last; states that change where a segment ends wait for that.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/buffer.h"
#include "core/memory/kept_beside.h"
#include "core/memory/layer_states.h"
#include "core/memory/position_ids.h"
#include "core/model/transformer.h"

namespace segue {

class KvCache final : public FrozenMemory {
 public:
  // For segments of `tgt_len` tokens. The weights must not change while this memory is in use.
  KvCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

  void fit(SegmentShape& shape) const override;
  bool is_settled() const override { return false; }  // what is read of it moves on with every segment
  void bind(SegmentTape& segment) override;
  // Throws ContractError when the part goes beyond the end of its segment.
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void reset() override;

  int64_t position() const override { return position_; }
  int64_t bytes() const override;

 private:
  void make_room(int64_t rows);

  ModelUse use_;
  kernels::Queue& queue_;
  int64_t tgt_len_;
  int64_t capacity_;
  LayerStates states_;
  std::unique_ptr<FrozenTape> frozen_;  // where a stream begins with a full memory, of zeros
  // Of the layers that attend:
  std::vector<OwnedTensor> distances_;  // [P, N*H], or nothing
  std::vector<OwnedTensor> rows_;       // [B, capacity, 2*N*H]; those of memory tokens among them
  PositionIds positions_;
  int64_t begin_ = 0;  // rows [begin, end) are attended to
  int64_t end_ = 0;
  int64_t read_ = 0;                    // rows of each stream since the last reset
  int64_t position_ = 0;                // tokens so far of the segment that has begun
  std::unique_ptr<KeptBeside> beside_;  // or nothing
};

}  // namespace segue
