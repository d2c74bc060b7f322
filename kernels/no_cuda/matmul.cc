// Matrix products of a build without CUDA.
#include "kernels/cuda/matmul.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void matmul(Stream& /*stream*/, const Matmul& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
