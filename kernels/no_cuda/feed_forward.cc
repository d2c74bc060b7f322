// The feed-forward network of a build without CUDA.
#include "kernels/cuda/feed_forward.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void feed_forward_forward(Stream& /*stream*/, const FeedForwardForward& /*args*/) { refuse(); }
void feed_forward_backward(Stream& /*stream*/, const FeedForwardBackward& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
