// What the emulated GPU is given to do.
#pragma once

#include <functional>

#include "kernels/cuda/queue.h"

namespace segue::cuda {

// Does it now, or keeps it for the graph that is being recorded: it must hold all it needs by value.
void submit(Queue& queue, std::function<void()> work);

}  // namespace segue::cuda
