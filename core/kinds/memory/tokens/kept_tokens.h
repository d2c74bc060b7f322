// Memory tokens: vectors of a stream that each segment reads before its own tokens, and of which it writes those that
// the next one reads (Bulatov et al. 2022, "Recurrent Memory Transformer").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "core/memory/kept_beside.h"
#include "core/memory/segment_memory.h"

namespace segue {

// Those of some streams. Until a segment has ended they are the ones that streams begin with, which are weights.
class MemoryTokens final : public KeptBeside {
 public:
  MemoryTokens(const ModelConfig& model, int64_t streams, const Compute& compute);

  bool are_written() const { return are_written_; }
  ConstTensorView view() const;  // [B, K, D]; [B, 0, D] until they are written

  void fit(SegmentShape& shape) const override { shape.begins_streams = !are_written_; }
  void bind(SegmentTape& segment) const override;
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void reset() override { are_written_ = false; }

  // Throws CheckpointError when `saved`, of the CPU, is no such view, in some precision.
  void check(const ConstTensorView& saved) const;
  void restore(const ConstTensorView& saved);
  int64_t bytes() const override { return tokens_.view().bytes(); }

 private:
  Compute compute_;
  OwnedTensor tokens_;  // [B, K, D]
  bool are_written_ = false;
};

// And, beside them, the inputs that layers remember: those of all rows of a segment, with the memory tokens' own.
class TokenMemory final : public TrainingMemory {
 public:
  TokenMemory(const ModelConfig& model, const ModelUse& use, int64_t streams, const Compute& compute);

  void fit(SegmentShape& shape) const override;
  bool is_settled() const override { return rows_.is_settled() && tokens_.are_written(); }
  void bind(SegmentTape& segment) override;
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void reset() override;
  void set_mem_len(kernels::Queue& queue, int64_t mem_len) override { rows_.set_mem_len(queue, mem_len); }
  std::vector<NamedTensor> state() const override;  // that of the layers, then "tokens" [B, K, D]
  void restore(std::span<const ConstTensorView> state) override;
  int64_t bytes() const override { return rows_.bytes() + tokens_.bytes(); }

 private:
  SegmentMemory rows_;
  MemoryTokens tokens_;
};

}  // namespace segue
