// The part of CUDA that base needs: memory, and which GPUs there are.
//
// Three files define these functions and a program links one of them: base/cuda/runtime.cc (CUDA), base/no_cuda.cc (a
// build without it: no GPUs) and tests/simt/runtime.cc (the emulated GPU, whose memory is the host's).
#pragma once

#include <cstdint>
#include <string>

namespace segue::cuda {

// GPUs of this machine; 0 when there is none, no driver, or no CUDA in this build. Throws DeviceError when there is a
// driver that does not work: it must not make a run train on the CPU unnoticed.
int device_count();

// Throws DeviceError, in one line, when GPU `index` cannot run Segue: no CUDA in the build, no driver or one too old,
// no such index, a GPU older than Ampere (compute capability 8.0).
void require_device(int index);

struct DeviceInfo {
  std::string name;
  std::string uuid;  // of this GPU, or part of one, unlike any other's
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
  int multiprocessors = 0;
};
DeviceInfo describe_device(int index);

// Makes GPU `index` the calling thread's current device, of which CUDA takes streams, graphs and launches.
void make_current(int index);

// Memory of GPU `index`, and of the host, from which a GPU copies by itself. Not filled.
// Throw DeviceError saying how much was asked for, and what the GPU has.
void* allocate(int64_t bytes, int index);
void* allocate_pinned(int64_t bytes);
void release(void* memory) noexcept;
void release_pinned(void* memory) noexcept;

// Wait for all work given to the GPU before, and return when done. Either side of a copy may be the host's.
void copy(void* to, const void* from, int64_t bytes);
void fill_zero(void* memory, int64_t bytes);

// Names what the calling thread queues until the end, for profilers (NVTX); ranges nest.
void begin_range(const char* name);
void end_range();

class Range {
 public:
  explicit Range(const char* name) { begin_range(name); }
  ~Range() { end_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace segue::cuda
