// The states of layers, which a segment hands to the next one beside rows of memory: what all tokens of a stream so far
// have written, and the newest inputs of convolutions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "core/memory/segment_memory.h"

namespace segue {

// Of some streams, float32 whatever activations are. Zeros where a stream begins.
class LayerStates {
 public:
  // `in_parts`: segments may come so.
  LayerStates(const ModelConfig& model, int64_t streams, Device device, bool in_parts = false);

  bool empty() const { return tensors_.empty(); }          // no layer keeps one
  bool change_at_ends() const { return change_at_ends_; }  // of segments, any of them
  void bind(SegmentTape& segment) const;
  void update(kernels::Queue& queue, const SegmentTape& segment);
  void reset();
  int64_t bytes() const;

  std::vector<NamedTensor> state() const;  // those of carried_tensors, with a leading extent B
  int64_t count() const { return std::ssize(tensors_); }
  // Throws CheckpointError when `saved`, of the CPU, are no such states.
  void check(std::span<const ConstTensorView> saved) const;
  void restore(std::span<const ConstTensorView> saved);

 private:
  Device device_;
  bool change_at_ends_ = false;
  std::vector<std::string> names_;
  std::vector<OwnedTensor> tensors_;
  std::vector<OwnedTensor> begun_;  // what those that are gathered will be, of a segment that has been read in part
};

// And, beside them, what the layers that attend remember.
class StateMemory final : public TrainingMemory {
 public:
  StateMemory(const ModelConfig& model, const ModelUse& use, int64_t streams, const Compute& compute);

  void fit(SegmentShape& shape) const override;
  bool is_settled() const override { return rows_.is_settled(); }
  void bind(SegmentTape& segment) override;
  void update(kernels::Queue& queue, const SegmentTape& segment) override;
  void reset() override;
  void set_mem_len(kernels::Queue& queue, int64_t mem_len) override { rows_.set_mem_len(queue, mem_len); }
  std::vector<NamedTensor> state() const override;  // that of the rows, then that of the states
  void restore(std::span<const ConstTensorView> state) override;
  int64_t bytes() const override { return rows_.bytes() + states_.bytes(); }

 private:
  SegmentMemory rows_;
  LayerStates states_;
};

}  // namespace segue
