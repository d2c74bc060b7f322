// The work given to the emulated GPU.
#pragma once

#include <functional>

#include "kernels/cuda/queue.h"

namespace segue::cuda {

// As for the queue's stream.
void submit(Queue& queue, std::function<void()> work);

}  // namespace segue::cuda
