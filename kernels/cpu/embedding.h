// Embedding on the CPU; arguments as checked by kernels/embedding.cc.
#pragma once

#include "kernels/embedding.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void embedding_forward(const Stream& stream, const EmbeddingForward& args);
void embedding_backward(const Stream& stream, const EmbeddingBackward& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
