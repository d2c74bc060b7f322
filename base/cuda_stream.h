// Streams of a GPU, for whoever queues work there: kernels, and collectives between GPUs.
//
// Three files define these functions and a program links one of them: base/cuda/stream.cc (CUDA),
// base/no_cuda_stream.cc (a build without it: refusals) and tests/simt/stream.cc (the emulated GPU, which does the work
// when it is waited for).
#pragma once

#include <utility>

namespace segue::cuda {

// Owns a cudaStream_t that waits for no other stream by itself.
class OwnedStream {
 public:
  OwnedStream() = default;           // none
  explicit OwnedStream(int device);  // throws DeviceError when the GPU cannot be used
  // Queued work still runs to its end. NOLINTNEXTLINE(performance-trivially-destructible): not in all three files
  ~OwnedStream();
  OwnedStream(OwnedStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  OwnedStream& operator=(OwnedStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }

  void* get() const { return stream_; }

 private:
  void* stream_ = nullptr;
};

// Both throw DeviceError when work of the stream has failed.
bool is_idle(void* stream);      // everything queued is done
void synchronize(void* stream);  // waits for that

}  // namespace segue::cuda
