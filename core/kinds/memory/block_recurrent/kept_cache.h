// The memory of recurrent states, for frozen weights: a KV cache, and beside it the states. These attend to all tokens
// of a segment, whatever parts it comes in, so they change before the next one begins.
#pragma once

#include <cstdint>
#include <memory>

#include "core/kinds/memory/block_recurrent/recurrent_memory.h"
#include "core/memory/kv_cache.h"

namespace segue {

class RecurrentCache final : public FrozenMemory {
 public:
  // For segments of `tgt_len` tokens. The weights must not change while this memory is in use.
  RecurrentCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

  void fit(SegmentShape& shape) const override { rows_.fit(shape); }
  bool is_settled() const override { return rows_.is_settled(); }
  void bind(SegmentTape& segment) override;
  // Throws ContractError when the part goes beyond the end of its segment.
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void reset() override;

  int64_t position() const override { return rows_.position(); }
  int64_t bytes() const override;

 private:
  void begin_segment();

  kernels::Queue& queue_;
  KvCache rows_;
  std::unique_ptr<RecurrentTape> begin_;  // of a stream
  std::unique_ptr<RecurrentTape> next_;   // after a segment
  OwnedTensor states_;                    // [B, K, D] float32: before the segment, or, until the next, the last one
  OwnedTensor state_kv_;                  // [B, K, 2*N*H]
  OwnedTensor token_kv_;                  // [B, tgt_len, 2*N*H]: of the segment so far
  bool has_begun_ = false;                // the stream
  bool has_ended_ = false;                // a segment whose tokens the states have not read
};

}  // namespace segue
