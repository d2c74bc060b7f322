// Memory of the GPU that stands in: the host's, which the host may touch only while the GPU is at work. Every block
// ends at a page that must not be touched, holds NaN at first, and is never handed out again once it is freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace segue::standin {

enum class Place : uint8_t {
  kHost,    // memory that the GPU knows nothing of
  kPinned,  // of the host, for the GPU too
  kGpu,
  kNowhere,  // freed, or not all within one block
};

void* allocate(size_t bytes, Place place);
bool release(void* memory, bool is_pinned);  // false: it is not the beginning of such a block
void release_everything();

Place place_of(const void* data, size_t bytes);
bool gpu_reaches(const void* data, size_t bytes);

size_t gpu_bytes();  // those that are in use
size_t blocks();     // of all kinds

// As long as one lives the GPU is at work.
class AtWork {
 public:
  AtWork();
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

}  // namespace segue::standin
