// The kernels are those of the emulated GPU; a launch is what kernels/cuda/simt.cuh makes of it.
#include <utility>

#include "base/error.h"
#include "kernels/cuda/queue_state.h"
#include "tests/cuda_standins/gpu.h"
#include "tests/simt/queue_work.h"

namespace segue::cuda {

void submit(Queue& queue, std::function<void()> work) {
  cudaError_t status = standin::launch_kernel(stream_of(queue), [work = std::move(work)] {
    work();
    return cudaSuccess;
  });
  if (status == cudaSuccess) status = cudaGetLastError();
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the error is reported here, not by the launch that comes next
  throw DeviceError("launch: {}", cudaGetErrorString(status));
}

}  // namespace segue::cuda
