// Gradient clipping of a build without CUDA.
#include "kernels/cuda/gradient_clip.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void gradient_norm(Stream& /*stream*/, const GradientNorm& /*args*/) { refuse(); }
void clip_gradients(Stream& /*stream*/, const GradientClip& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
