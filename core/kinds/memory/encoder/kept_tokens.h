// The memory of a model with an encoder: the newest tokens of every stream. For every segment the encoder reads them
// again, and all layers see its output.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/memory/memory.h"
#include "core/memory/per_segment_kv_cache.h"

namespace segue {

class EncoderMemory final : public TrainingMemory {
 public:
  // Of at most `mem_len` tokens.
  EncoderMemory(int64_t mem_len, int64_t streams, Device device);

  int64_t length() const { return length_; }
  ConstTensorView tokens() const;  // [B, length] int32, oldest first

  void fit(SegmentShape& shape) const override;
  bool is_settled() const override { return length_ == mem_len_; }
  void bind(SegmentTape& segment) override;
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void update(kernels::Queue& queue, ConstTensorView tokens);  // takes in tokens [B, T] int32
  void reset() override { length_ = 0; }
  void set_mem_len(kernels::Queue& queue, int64_t mem_len) override;
  std::vector<NamedTensor> state() const override;  // "tokens" as above
  void restore(std::span<const ConstTensorView> state) override;
  int64_t bytes() const override { return tokens_.view().bytes(); }

 private:
  void keep(kernels::Queue& queue, ConstTensorView fresh);

  Device device_;
  OwnedTensor tokens_;  // [B, mem_len] int32
  int64_t mem_len_;     // tokens kept now, at most
  int64_t length_ = 0;
};

// The keys and values that every layer makes of what the encoder makes of tokens, with frozen weights.
struct EncodedTape {
  std::unique_ptr<SharedRowsTape> made;
  Slot tokens;  // [B, M] int32, bound
};
EncodedTape record_encoded(const Transformer& model, Arena& arena, Parameters& parameters, const ModelUse& use,
                           const Shape& tokens);

// The same memory, of frozen weights.
class EncoderCache final : public PerSegmentKvCache {
 public:
  // For segments of `tgt_len` tokens.
  EncoderCache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len);

  void reset() override;
  int64_t bytes() const override { return PerSegmentKvCache::bytes() + memory_.bytes() + segment_.bytes(); }

 private:
  int64_t make_memory() override;
  void take_in(kernels::Queue& queue, const SegmentTape& part, int64_t position) override;
  void end_segment(kernels::Queue& queue) override;
  EncodedTape& tape_for(int64_t length);

  EncoderMemory memory_;            // up to the segment
  EncoderMemory segment_;           // its tokens so far
  std::vector<EncodedTape> tapes_;  // for the lengths that the memory has had
};

}  // namespace segue
