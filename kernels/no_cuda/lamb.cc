// LAMB of a build without CUDA.
#include "kernels/cuda/lamb.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void lamb_moments(Stream& /*stream*/, const LambMoments& /*args*/, const LambMomentScalars& /*scalars*/) { refuse(); }
void lamb_norms(Stream& /*stream*/, const LambNorms& /*args*/) { refuse(); }
void lamb_step(Stream& /*stream*/, const LambStep& /*args*/, const LambStepScalars& /*scalars*/) { refuse(); }

}  // namespace segue::kernels::cuda
