// The feed-forward network on a GPU; arguments as checked by kernels/feed_forward.cc.
#pragma once

#include "kernels/feed_forward.h"

namespace segue::kernels::cuda {

void feed_forward_forward(Stream& stream, const FeedForwardForward& args);
void feed_forward_backward(Stream& stream, const FeedForwardBackward& args);

}  // namespace segue::kernels::cuda
