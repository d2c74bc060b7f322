// The memory update on a GPU; arguments as checked by kernels/segment_memory.cc.
#pragma once

#include "kernels/segment_memory.h"

namespace segue::kernels::cuda {

void segment_memory_update(Stream& stream, const SegmentMemoryUpdate& args);

}  // namespace segue::kernels::cuda
