// Relative attention on the processor: the arguments are as kernels/relative_attention.h says and have been checked.
#pragma once

#include "kernels/relative_attention.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void relative_attention_forward(const Stream& stream, const RelativeAttentionForward& args);
void relative_attention_backward(const Stream& stream, const RelativeAttentionBackward& args);
int64_t relative_attention_workspace(const RelativeAttentionExtents& extents);  // elements, of float32

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
