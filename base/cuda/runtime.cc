// The CUDA runtime behind base/cuda.h.
#include <nvtx3/nvToolsExt.h>

#include <span>

#include "base/cuda.h"
#include "base/cuda/check.h"
#include "base/text.h"

namespace segue::cuda {

namespace {

constexpr int kOldestMajor = 8;  // Ampere: bfloat16 tensor cores and asynchronous copies

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// 0 without a driver.
int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

// The driver is asked first: every other call fails without a word about the reason when it is missing or too old.
void require_driver() {
  const int driver = driver_version();
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  if (driver == 0) throw DeviceError("no NVIDIA driver was found on this machine");
  if (driver / 1000 < runtime / 1000) {
    throw DeviceError("the NVIDIA driver is too old: it knows CUDA {}, this program needs CUDA {}",
                      version_text(driver), version_text(runtime));
  }
}

std::string hexadecimal(std::span<const char> bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

[[noreturn]] void refuse_allocation(int64_t bytes, int index) {
  cudaGetLastError();  // the error is reported here, not by the call that comes next
  const DeviceInfo info = describe_device(index);
  throw OutOfMemoryError("cuda:{}: out of memory: {} asked for, {} free of {}", index, human_bytes(bytes),
                         human_bytes(info.free_bytes), human_bytes(info.total_bytes));
}

}  // namespace

int device_count() {
  if (driver_version() == 0) return 0;
  require_driver();
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) cudaGetLastError();  // the error is reported here, not by the call that comes next
  if (status == cudaErrorNoDevice) return 0;
  if (status != cudaSuccess) throw DeviceError("no GPU can be used: {}", cudaGetErrorString(status));
  return count;
}

void require_device(int index) {
  require_driver();
  const int count = device_count();
  if (index < 0 || index >= count)
    throw DeviceError("cuda:{}: no such device; this machine has {}, counted from 0", index, count);
  int major = 0;
  int minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index), "cudaDeviceGetAttribute");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index), "cudaDeviceGetAttribute");
  if (major < kOldestMajor) {
    throw DeviceError("cuda:{}: {} has compute capability {}.{}, expected {}.0 or newer", index,
                      describe_device(index).name, major, minor, kOldestMajor);
  }
}

void make_current(int index) { check(cudaSetDevice(index), "cudaSetDevice"); }

DeviceInfo describe_device(int index) {
  cudaDeviceProp properties{};
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  make_current(index);
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  return {.name = properties.name,
          .uuid = hexadecimal(properties.uuid.bytes),
          .total_bytes = static_cast<int64_t>(total_bytes),
          .free_bytes = static_cast<int64_t>(free_bytes),
          .multiprocessors = properties.multiProcessorCount};
}

void* allocate(int64_t bytes, int index) {
  void* memory = nullptr;
  make_current(index);
  const cudaError_t status = cudaMalloc(&memory, static_cast<size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) refuse_allocation(bytes, index);
  check(status, "cudaMalloc");
  return memory;
}

void* allocate_pinned(int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, static_cast<size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the error is reported here, not by the call that comes next
    throw OutOfMemoryError("out of pinned memory: {} asked for", human_bytes(bytes));
  }
  check(status, "cudaMallocHost");
  return memory;
}

// Nothing can be done about a failure here; one that matters shows in the next checked call.
void release(void* memory) noexcept { cudaFree(memory); }
void release_pinned(void* memory) noexcept { cudaFreeHost(memory); }

void copy(void* to, const void* from, int64_t bytes) {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaMemcpy(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault), "cudaMemcpy");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void fill_zero(void* memory, int64_t bytes) {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  check(cudaMemset(memory, 0, static_cast<size_t>(bytes)), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void begin_range(const char* name) { nvtxRangePushA(name); }
void end_range() { nvtxRangePop(); }

}  // namespace segue::cuda
