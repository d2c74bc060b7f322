// The state of a CUDA queue: its stream, and what cuBLASLt needs beside it.
#pragma once

#include <cuda_runtime_api.h>

#include "base/buffer.h"
#include "base/cuda/check.h"
#include "base/cuda_stream.h"
#include "kernels/cuda/gemm_plans.h"
#include "kernels/cuda/queue.h"

namespace segue::cuda {

// NVIDIA's recommendation for Hopper; smaller GPUs lose nothing by it.
constexpr int64_t kGemmWorkspaceBytes = int64_t{32} << 20;

struct Queue::State {
  int device = 0;
  OwnedStream stream;
  cublasLtHandle_t cublas = nullptr;
  Buffer scratch;         // kScratchBytes
  Buffer gemm_workspace;  // kGemmWorkspaceBytes
  GemmPlans gemm_plans;
};

inline cudaStream_t stream_of(const Queue& queue) { return static_cast<cudaStream_t>(queue.stream()); }

}  // namespace segue::cuda
