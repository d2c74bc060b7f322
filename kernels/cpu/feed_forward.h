// The feed-forward network on the CPU; arguments as checked by kernels/feed_forward.cc.
#pragma once

#include "kernels/feed_forward.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void feed_forward_forward(const Stream& stream, const FeedForwardForward& args);
void feed_forward_backward(const Stream& stream, const FeedForwardBackward& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
