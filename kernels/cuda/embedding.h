// Embedding on a GPU; arguments as checked by kernels/embedding.cc.
#pragma once

#include "kernels/embedding.h"

namespace segue::kernels::cuda {

void embedding_forward(Stream& stream, const EmbeddingForward& args);
void embedding_backward(Stream& stream, const EmbeddingBackward& args);

}  // namespace segue::kernels::cuda
