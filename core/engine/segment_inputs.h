// The inputs of one segment, and their way to a GPU.
#pragma once

#include <array>
#include <cstdint>

#include "base/buffer.h"
#include "core/tape/tape.h"
#include "kernels/cuda/queue.h"
#include "kernels/queue.h"

namespace segue {

// One segment of `streams` streams and the memory it reads and updates.
struct SegmentInputs {
  ConstTensorView tokens;   // [B, T] int32
  ConstTensorView targets;  // [B, S] int32: of the S newest tokens; those of -1 are not scored
  ReplayInfo info;
  ConstTensorView reach = {};  // [B, T] int32: the farthest distance that queries see; or empty: no limit
  bool margins = false;        // wanted beside the losses, where the head can tell them
};

// Tokens, targets, reach and step at addresses of the GPU that never change, so that recorded work finds them. The host
// writes the next segments while the GPU still copies the last ones.
class SegmentStaging {
 public:
  SegmentStaging(const Shape& tokens, const Shape& targets, const Shape& reach, Device device);

  // Queues the copy of a segment. Throws ContractError naming the first token outside [0, vocabulary), or target
  // outside [-1, vocabulary), or reach below 0.
  void load(kernels::Queue& queue, const SegmentInputs& inputs, int64_t vocabulary);

  ConstTensorView tokens() const { return tokens_in(block_.view()); }
  ConstTensorView targets() const { return targets_in(block_.view()); }
  ConstTensorView reach() const { return reach_in(block_.view()); }
  const uint64_t* step() const { return reinterpret_cast<const uint64_t*>(block_.view().data); }

 private:
  static constexpr int64_t kStepBytes = 64;  // one aligned line for 8 bytes
  struct Pinned {
    OwnedTensor block;
    cuda::Fence copied;
  };
  template <typename Byte>
  BasicTensorView<Byte> tokens_in(const BasicTensorView<Byte>& block) const {
    return {block.data + kStepBytes, DType::kInt32, tokens_};
  }
  template <typename Byte>
  BasicTensorView<Byte> targets_in(const BasicTensorView<Byte>& block) const {
    return {block.data + kStepBytes + tokens_.elements() * bytes_of(DType::kInt32), DType::kInt32, targets_};
  }

  template <typename Byte>
  BasicTensorView<Byte> reach_in(const BasicTensorView<Byte>& block) const {
    const int64_t before = tokens_.elements() + targets_.elements();
    return {block.data + kStepBytes + before * bytes_of(DType::kInt32), DType::kInt32, reach_};
  }

  Shape tokens_;
  Shape targets_;
  Shape reach_;
  OwnedTensor block_;  // step, tokens, targets, reach
  std::array<Pinned, 4> pinned_;
  size_t next_ = 0;
};

}  // namespace segue
