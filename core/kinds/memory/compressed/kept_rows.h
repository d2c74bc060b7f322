// A memory that compresses what leaves it: for every layer and stream, the newest inputs of that layer, and before them
// rows that each stand for several older ones (Rae et al. 2019, "Compressive Transformers for Long-Range Sequence
// Modelling").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "core/memory/memory.h"
#include "core/tape/compute.h"
#include "kernels/queue.h"

namespace segue {

// Whole groups of c rows are compressed, so that a memory that is full keeps mem_len of them or up to c - 1 more; a
// segment's length need not be a multiple of c.
class CompressedMemory final : public TrainingMemory {
 public:
  CompressedMemory(const ModelConfig& model, const ModelUse& use, int64_t streams, const Compute& compute = {});

  int64_t compressed() const { return compressed_; }  // rows per layer and stream there are now
  int64_t uncompressed() const { return rows_; }
  ConstTensorView layer(int64_t l) const;  // [B, compressed + uncompressed, D], oldest first

  // Throws ContractError for a segment longer than mem_len, which would push out rows of its own.
  void fit(SegmentShape& shape) const override;
  bool is_settled() const override;
  void bind(SegmentTape& segment) override;
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void advance(const SegmentTape& segment) override;
  void reset() override;
  void set_mem_len(kernels::Queue& queue, int64_t mem_len) override;
  std::vector<NamedTensor> state() const override;  // "layers.L" as `layer`; "compressed" [B, compressed, 0]
  void restore(std::span<const ConstTensorView> state) override;
  int64_t bytes() const override { return remembered_bytes() + next_.view().bytes(); }
  int64_t remembered_bytes() const override;

  // The same by hand: takes in the inputs [B, T, D] of layer `l`, and what became of the rows that they push out
  // [B, R, D], if there are any; and counts them, once for all layers.
  void update(kernels::Queue& queue, int64_t l, ConstTensorView inputs, ConstTensorView compressed);
  void advance(int64_t tgt_len);

 private:
  struct Counts {
    int64_t compressed = 0, rows = 0;
    int64_t length() const { return compressed + rows; }
  };
  Counts after(int64_t tgt_len) const;
  TensorView view(const OwnedTensor& block, int64_t length) const;

  int64_t d_model_;
  int64_t streams_;
  ModelUse use_;          // with the mem_len of now
  int64_t most_mem_len_;  // and the longest that it was made for
  Compute compute_;
  std::vector<OwnedTensor> layers_;  // each with room for all rows
  OwnedTensor next_;                 // of one layer, while it is put together
  int64_t compressed_ = 0;
  int64_t rows_ = 0;
};

}  // namespace segue
