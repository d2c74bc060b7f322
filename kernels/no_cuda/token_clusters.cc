// Token clusters of a build without CUDA.
#include "kernels/cuda/token_clusters.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void token_clusters(Stream& /*stream*/, const TokenClusters& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
