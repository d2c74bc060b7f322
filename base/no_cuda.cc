// A build without CUDA has no GPUs.
#include "base/cuda.h"
#include "base/error.h"

namespace segue::cuda {

namespace {

[[noreturn]] void refuse() { throw DeviceError("this program was built without CUDA; use the device \"cpu\""); }

}  // namespace

int device_count() { return 0; }
void require_device(int /*index*/) { refuse(); }
DeviceInfo describe_device(int /*index*/) { refuse(); }
void make_current(int /*index*/) { refuse(); }
void* allocate(int64_t /*bytes*/, int /*index*/) { refuse(); }
void* allocate_pinned(int64_t /*bytes*/) { refuse(); }
void release(void* /*memory*/) noexcept {}
void release_pinned(void* /*memory*/) noexcept {}
void copy(void* /*to*/, const void* /*from*/, int64_t /*bytes*/) { refuse(); }
void fill_zero(void* /*memory*/, int64_t /*bytes*/) { refuse(); }

void begin_range(const char* /*name*/) {}
void end_range() {}

}  // namespace segue::cuda
