// Adam of a build without CUDA.
#include "kernels/cuda/adam.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void gradient_norm(Stream& /*stream*/, const GradientNorm& /*args*/) { refuse(); }
void clip_gradients(Stream& /*stream*/, const GradientClip& /*args*/) { refuse(); }
void adam_step(Stream& /*stream*/, const AdamStep& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
