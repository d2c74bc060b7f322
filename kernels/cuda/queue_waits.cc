// How the host waits for a GPU, whatever stands for it.
#include "base/cuda_stream.h"
#include "kernels/cuda/queue.h"

namespace segue::cuda {

void Queue::synchronize() const {
  if (!watch_) return cuda::synchronize(stream());
  wait_until([this] { return is_idle(stream()); }, watch_);
}

void Queue::wait_for(const Fence& fence) const {
  if (!watch_) return fence.wait();
  wait_until([&fence] { return fence.has_come(); }, watch_);
}

}  // namespace segue::cuda
