// Dropout of a build without CUDA.
#include "kernels/cuda/dropout.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void dropout_forward(Stream& /*stream*/, const DropoutForward& /*args*/) { refuse(); }
void dropout_backward(Stream& /*stream*/, const DropoutBackward& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
