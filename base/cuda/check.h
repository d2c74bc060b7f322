// An error of a call of the CUDA runtime as an exception, and then no longer as the thread's last error.
#pragma once

#include <cuda_runtime_api.h>

#include "base/error.h"

namespace segue::cuda {

// Throws DeviceError naming the call.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the error is reported here, not by the launch that comes next
  throw DeviceError("{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status));
}

}  // namespace segue::cuda
