// The inputs of one segment, and the staging buffers that carry them to a GPU.
#pragma once

#include <array>
#include <cstdint>

#include "base/buffer.h"
#include "core/config/kinds.h"
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
  // [B, T] int32: how many keys after their own queries see that look ahead; or empty: the rest of the segment. T here
  // counts the rows of a global stream too.
  ConstTensorView ahead = {};
  int64_t segment_length = 0;  // of the segments of a step, if it has several
  bool margins = false;        // wanted beside the losses, where the head can tell them
  bool attention = false;      // wanted of the memory's rows
  double window_share = 1.0;   // of windows, that layers see
  Recompute recompute = Recompute::kNone;
};

// The inputs of a segment and its step at addresses of the GPU that never change, so that recorded work finds them. The
// host writes the next segments while the GPU still copies the last ones.
class SegmentStaging {
 public:
  // Each of int32; those that there are not have no elements.
  struct Shapes {
    Shape tokens, targets, reach, ahead;
  };
  SegmentStaging(const Shapes& shapes, Device device);

  // Queues the copy of a segment. Throws ContractError naming the first token outside [0, vocabulary), or target
  // outside [-1, vocabulary), or reach or what lies ahead below 0.
  void load(kernels::Queue& queue, const SegmentInputs& inputs, int64_t vocabulary);

  ConstTensorView tokens() const { return part_of(block_.view(), kTokens); }
  ConstTensorView targets() const { return part_of(block_.view(), kTargets); }
  ConstTensorView reach() const { return part_of(block_.view(), kReach); }
  ConstTensorView ahead() const { return part_of(block_.view(), kAhead); }
  const uint64_t* step() const { return reinterpret_cast<const uint64_t*>(block_.view().data); }

 private:
  static constexpr int64_t kStepBytes = 64;  // one aligned line for 8 bytes
  enum Part : size_t { kTokens, kTargets, kReach, kAhead };
  struct Pinned {
    OwnedTensor block;
    cuda::Fence copied;
  };
  template <typename Byte>
  BasicTensorView<Byte> part_of(const BasicTensorView<Byte>& block, Part part) const {
    int64_t before = 0;
    for (size_t i = 0; i < part; ++i) before += shapes_[i].elements();
    return {block.data + kStepBytes + before * bytes_of(DType::kInt32), DType::kInt32, shapes_[part]};
  }

  std::array<Shape, 4> shapes_;
  OwnedTensor block_;  // the step, then the parts
  std::array<Pinned, 4> pinned_;
  size_t next_ = 0;
};

}  // namespace segue
