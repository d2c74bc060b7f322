// Softmax cross-entropy against a linear layer of a build without CUDA.
#include "kernels/cuda/linear_cross_entropy.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void linear_cross_entropy(Stream& /*stream*/, const LinearCrossEntropy& /*args*/) { refuse(); }
int64_t linear_cross_entropy_workspace(const LinearCrossEntropyExtents& /*extents*/) { refuse(); }

}  // namespace segue::kernels::cuda
