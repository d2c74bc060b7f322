// Embedding of a build without CUDA.
#include "kernels/cuda/embedding.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void embedding_forward(Stream& /*stream*/, const EmbeddingForward& /*args*/) { refuse(); }
void embedding_backward(Stream& /*stream*/, const EmbeddingBackward& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
