// Ranks on GPUs, real or emulated; they share one where there are fewer.
#include "base/cuda.h"
#include "base/error.h"
#include "tests/distributed/job.h"

namespace segue {

Device job_device() {
  const int gpus = cuda::device_count();
  if (gpus == 0) throw DeviceError("no GPU here");
  return {DeviceKind::kCuda, job().local_rank() % gpus};
}

}  // namespace segue
