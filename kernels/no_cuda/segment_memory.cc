// The memory update of a build without CUDA.
#include "kernels/cuda/segment_memory.h"

#include "kernels/no_cuda/refuse.h"

namespace segue::kernels::cuda {

void segment_memory_update(Stream& /*stream*/, const SegmentMemoryUpdate& /*args*/) { refuse(); }

}  // namespace segue::kernels::cuda
