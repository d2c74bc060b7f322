// The copy of blocks of a build without CUDA.
#include "kernels/cuda/copy_block.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void copy_block(Stream& /*stream*/, const CopyBlock& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
