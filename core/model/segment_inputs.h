// What one segment brings, and its way to a GPU.
#pragma once

#include <array>
#include <cstdint>

#include "base/buffer.h"
#include "core/model/tape.h"
#include "kernels/cuda/queue.h"
#include "kernels/stream.h"

namespace segue {

// One segment of `streams` streams and the memory it reads and updates.
struct SegmentInputs {
  ConstTensorView tokens;   // [B, T] int32
  ConstTensorView targets;  // [B, T] int32
  ReplayInfo info;
};

// Tokens, targets and step at addresses of the GPU that never change, so that recorded work finds them. The host writes
// the next segments while the GPU still copies the last ones.
class SegmentStaging {
 public:
  SegmentStaging(const Shape& tokens, Device device);

  // Queues the copy of a segment. Throws ContractError naming the first token outside [0, vocabulary).
  void load(kernels::Stream& stream, const SegmentInputs& inputs, int64_t vocabulary);

  ConstTensorView tokens() const { return part(block_.view(), kStepBytes); }
  ConstTensorView targets() const { return part(block_.view(), kStepBytes + part_bytes_); }
  const uint64_t* step() const { return reinterpret_cast<const uint64_t*>(block_.view().data); }

 private:
  static constexpr int64_t kStepBytes = 64;  // one aligned line for 8 bytes
  struct Pinned {
    OwnedTensor block;
    cuda::Fence copied;
  };
  template <typename Byte>
  BasicTensorView<Byte> part(const BasicTensorView<Byte>& block, int64_t offset) const {
    return {block.data + offset, DType::kInt32, shape_};
  }

  Shape shape_;
  int64_t part_bytes_;
  OwnedTensor block_;  // step, tokens, targets
  std::array<Pinned, 4> pinned_;
  size_t next_ = 0;
};

}  // namespace segue
