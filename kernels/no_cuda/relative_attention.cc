// Relative attention of a build without CUDA.
#include "kernels/cuda/relative_attention.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void relative_attention_forward(Stream& /*stream*/, const RelativeAttentionForward& /*args*/) { refuse(); }
void relative_attention_backward(Stream& /*stream*/, const RelativeAttentionBackward& /*args*/) { refuse(); }
int64_t relative_attention_workspace(const RelativeAttentionExtents& /*extents*/) { refuse(); }

}  // namespace segue::kernels::cuda
