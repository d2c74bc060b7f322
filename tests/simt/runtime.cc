// The emulated GPU behind base/cuda.h: one device, whose memory is the host's.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/cuda.h"
#include "base/error.h"
#include "tests/simt/stream.h"

namespace segue::cuda {

int device_count() { return 1; }

void require_device(int index) {
  if (index != 0) throw DeviceError("cuda:{}: no such device; this machine has 1, counted from 0", index);
}

DeviceInfo describe_device(int /*index*/) {
  return {.name = "emulated GPU",
          .uuid = std::to_string(getpid()),
          .total_bytes = 0,
          .free_bytes = 0,
          .multiprocessors = 1};
}

void make_current(int /*index*/) {}

// Exactly as large as asked for, so that AddressSanitizer sees the first byte beyond.
void* allocate(int64_t bytes, int /*index*/) {
  constexpr size_t kAlignment = 256;  // cudaMalloc's
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, static_cast<size_t>(bytes)) != 0)
    throw OutOfMemoryError("cuda:0: out of memory: {} bytes asked for", bytes);
  return memory;
}

void* allocate_pinned(int64_t bytes) { return allocate(bytes, 0); }
void release(void* memory) noexcept {
  finish_all_work();
  std::free(memory);
}
void release_pinned(void* memory) noexcept { release(memory); }
void copy(void* to, const void* from, int64_t bytes) {
  finish_all_work();
  std::memmove(to, from, static_cast<size_t>(bytes));
}
void fill_zero(void* memory, int64_t bytes) {
  finish_all_work();
  std::memset(memory, 0, static_cast<size_t>(bytes));
}

void begin_range(const char* /*name*/) {}
void end_range() {}

}  // namespace segue::cuda
