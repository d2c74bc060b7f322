// The two ways of a GPU to a cross-entropy against a linear layer.
//
// All rows: products by cuBLASLt and the kernels of cross_entropy.cu, for a chunk of rows after the other. Listed rows:
// kernels of their own that read from the device how many there are; logits stay in registers.
#pragma once

#include "kernels/cuda/operations.h"

namespace segue::kernels::cuda {

// Hands out pieces of a workspace of float32, or only counts when there is none.
class WorkspacePieces {
 public:
  explicit WorkspacePieces(float* workspace) : workspace_(workspace) {}
  float* take(int64_t elements) {
    constexpr int64_t kAligned = 32;  // 128 bytes
    float* piece = workspace_ == nullptr ? nullptr : workspace_ + taken_;
    taken_ += (elements + kAligned - 1) / kAligned * kAligned;
    return piece;
  }
  int64_t taken() const { return taken_; }

 private:
  float* workspace_;
  int64_t taken_ = 0;
};

void all_rows_cross_entropy(Queue& queue, const LinearCrossEntropy& args, const LinearCrossEntropyExtents& extents);
int64_t all_rows_workspace(const LinearCrossEntropyExtents& extents);

void listed_rows_cross_entropy(Queue& queue, const LinearCrossEntropy& args, const LinearCrossEntropyExtents& extents);
int64_t listed_rows_workspace(const LinearCrossEntropyExtents& extents);

}  // namespace segue::kernels::cuda
