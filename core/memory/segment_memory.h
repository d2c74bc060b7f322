// The memory: for every layer and stream, the newest rows of earlier segments, that layer's inputs (Dai et al.
// 2019, 3.2) or the keys and values that it made of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "core/memory/memory.h"
#include "core/tape/compute.h"
#include "kernels/queue.h"

namespace segue {

struct SegmentMemoryShape {
  int64_t layers = 0;                 // that attend
  std::vector<int64_t> numbers = {};  // of these layers in the model; none: 0, 1 and so on
  int64_t streams = 0;
  int64_t mem_len = 0;       // most rows ever kept per layer and stream
  int64_t width = 0;         // of a row
  bool starts_full = false;  // of zeros that are attended, as in the authors' TensorFlow code; otherwise empty
  Remembered form = Remembered::kHiddenStates;
};

SegmentMemoryShape memory_shape(const ModelConfig& model, const ModelUse& use, int64_t streams);

// Owns its rows; they carry no gradient. All streams of one memory are at the same point of their segments.
class SegmentMemory : public TrainingMemory {
 public:
  explicit SegmentMemory(const SegmentMemoryShape& shape, const Compute& compute = {});

  int64_t length() const { return length_; }    // rows per layer and stream there are now
  int64_t mem_len() const { return mem_len_; }  // and as many there may be
  bool is_full() const { return length_ == mem_len_; }
  int64_t layers() const { return shape_.layers; }
  ConstTensorView layer(int64_t l) const;  // [B, length, width]
  void reset() override;

  void set_mem_len(kernels::Queue& queue, int64_t mem_len) override;
  void fit(SegmentShape& shape) const override;
  bool is_settled() const override { return is_full(); }
  void bind(SegmentTape& segment) override;
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  // Appends fresh[l] [B, T, width] to every layer and drops the oldest rows beyond mem_len.
  void update(kernels::Queue& queue, std::span<const ConstTensorView> fresh);
  std::vector<NamedTensor> state() const override;  // "layers.L" [B, length, width], L its number
  void restore(std::span<const ConstTensorView> layers) override;
  int64_t bytes() const override;

 private:
  TensorView rows(int64_t l, int64_t length);
  int64_t number(int64_t l) const { return shape_.numbers.empty() ? l : shape_.numbers[static_cast<size_t>(l)]; }
  SegmentMemoryShape shape_;
  Compute compute_;
  std::vector<OwnedTensor> layers_;  // each with room for mem_len rows
  int64_t mem_len_;                  // rows kept now, at most
  int64_t length_;
  std::vector<ConstTensorView> fresh_;  // of the last update: reused by every one
};

}  // namespace segue
