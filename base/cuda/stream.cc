// The CUDA runtime behind base/cuda_stream.h.
#include "base/cuda.h"
#include "base/cuda/check.h"
#include "base/cuda_stream.h"

namespace segue::cuda {

namespace {

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

OwnedStream::OwnedStream(int device) {
  require_device(device);
  make_current(device);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  stream_ = stream;
}

OwnedStream::~OwnedStream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_of(stream_));
}

bool is_idle(void* stream) {
  const cudaError_t status = cudaStreamQuery(stream_of(stream));
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaStreamQuery");
  return true;
}

void synchronize(void* stream) { check(cudaStreamSynchronize(stream_of(stream)), "cudaStreamSynchronize"); }

}  // namespace segue::cuda
