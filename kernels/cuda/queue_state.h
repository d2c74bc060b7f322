// What a queue of CUDA holds: the stream, and what cuBLASLt needs beside it.
#pragma once

#include <cublasLt.h>

#include "base/buffer.h"
#include "base/cuda/check.h"
#include "kernels/cuda/queue.h"

namespace segue::cuda {

inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError("{}: {}", call, cublasLtGetStatusString(status));
}

struct Queue::State {
  int device = 0;
  cudaStream_t stream = nullptr;
  cublasLtHandle_t cublas = nullptr;
  Buffer gemm_workspace;  // kScratchBytes: what NVIDIA recommends for Hopper; smaller GPUs lose nothing by it
};

inline cudaStream_t stream_of(const Queue& queue) { return static_cast<cudaStream_t>(queue.stream()); }

}  // namespace segue::cuda
