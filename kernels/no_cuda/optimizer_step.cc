// Steps of optimizers in a build without CUDA.
#include "kernels/cuda/optimizer_step.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void update(Stream& /*stream*/, const UpdatedBlock& /*block*/, const AdamRule& /*rule*/) { refuse(); }
void update(Stream& /*stream*/, const UpdatedBlock& /*block*/, const AdagradRule& /*rule*/) { refuse(); }
void update(Stream& /*stream*/, const UpdatedBlock& /*block*/, const SgdRule& /*rule*/) { refuse(); }
void update(Stream& /*stream*/, const UpdatedBlock& /*block*/, const MomentumRule& /*rule*/) { refuse(); }

}  // namespace segue::kernels::cuda
