// The memory of all parameters, or for a plan its addresses alone.
#pragma once

#include <cstddef>
#include <memory>

#include "base/buffer.h"
#include "base/tensor.h"

namespace segue {

// Gives a planned block's addresses back.
struct UnmapBlock {
  size_t bytes = 0;
  void operator()(std::byte* block) const;
};

class FlatBlock {
 public:
  FlatBlock() = default;
  FlatBlock(DType dtype, int64_t elements, Device device) : own_(dtype, {elements}, device), dtype_(dtype) {}

  // On the CPU, zero, and of which little may be touched: the system need not have its pages. Throws OutOfMemoryError
  // where there are no such addresses.
  static FlatBlock planned(DType dtype, int64_t elements);

  TensorView view() { return planned_ ? TensorView{planned_.get(), dtype_, shape_} : own_.view(); }
  ConstTensorView view() const { return planned_ ? ConstTensorView{planned_.get(), dtype_, shape_} : own_.view(); }
  Shape shape() const { return view().shape; }

 private:
  OwnedTensor own_;
  std::unique_ptr<std::byte, UnmapBlock> planned_;
  DType dtype_ = DType::kFloat32;
  Shape shape_{0};  // where it is planned
};

}  // namespace segue
