// The memory update on the CPU; arguments as checked by kernels/segment_memory.cc.
#pragma once

#include "kernels/segment_memory.h"

namespace segue::kernels::cpu {
inline namespace SEGUE_CPU_LEVEL {

void segment_memory_update(const Stream& stream, const SegmentMemoryUpdate& args);

}  // namespace SEGUE_CPU_LEVEL
}  // namespace segue::kernels::cpu
