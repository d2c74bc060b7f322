// Relative attention on a GPU; arguments as checked by kernels/relative_attention.cc.
#pragma once

#include "kernels/relative_attention.h"

namespace segue::kernels::cuda {

constexpr int64_t kMaxHeadWidth = 128;

void relative_attention_forward(Stream& stream, const RelativeAttentionForward& args);
void relative_attention_backward(Stream& stream, const RelativeAttentionBackward& args);
int64_t relative_attention_workspace(const RelativeAttentionExtents& extents);  // elements, of float32

}  // namespace segue::kernels::cuda
