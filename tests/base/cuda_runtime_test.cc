// Devices and memory of CUDA, and what is said when they cannot be had.
#include <cuda_runtime_api.h>

#include "base/cuda.h"
#include "base/cuda_stream.h"
#include "base/text.h"
#include "tests/cuda_standins/fixture.h"
#include "tests/message_of.h"

namespace segue {

namespace {

class CudaRuntime : public OnStandIns {};

constexpr int64_t kGiB = int64_t{1} << 30;

TEST_F(CudaRuntime, CountsGpusThatCanBeUsed) {
  EXPECT_EQ(cuda::device_count(), 1);
  standin::machine().gpus = 3;
  EXPECT_EQ(cuda::device_count(), 3);
  standin::machine().enumeration = cudaErrorNoDevice;
  EXPECT_EQ(cuda::device_count(), 0);
  standin::machine().driver_version = 0;
  EXPECT_EQ(cuda::device_count(), 0);
}

TEST_F(CudaRuntime, SaysWhyThereIsNone) {
  standin::machine().enumeration = cudaErrorInvalidValue;
  EXPECT_EQ(message_of<DeviceError>(cuda::device_count), "no GPU can be used: invalid argument");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  standin::reset({.driver_version = 11080});
  const std::string needed = std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
  const std::string too_old = "the NVIDIA driver is too old: it knows CUDA 11.8, this program needs CUDA " + needed;
  EXPECT_EQ(message_of<DeviceError>(cuda::device_count), too_old);
  EXPECT_EQ(message_of<DeviceError>([] { cuda::require_device(0); }), too_old);
  standin::reset({.driver_version = 0});
  EXPECT_EQ(message_of<DeviceError>([] { cuda::require_device(0); }), "no NVIDIA driver was found on this machine");
}

TEST_F(CudaRuntime, RequiresAGpuThatIsThereAndNewEnough) {
  cuda::require_device(0);
  EXPECT_EQ(message_of<DeviceError>([] { cuda::require_device(1); }),
            "cuda:1: no such device; this machine has 1, counted from 0");
  EXPECT_EQ(message_of<DeviceError>([] { const cuda::OwnedStream stream(-1); }),
            "cuda:-1: no such device; this machine has 1, counted from 0");
  standin::machine().major = 7;
  EXPECT_EQ(message_of<DeviceError>([] { cuda::require_device(0); }),
            "cuda:0: a GPU that stands in has compute capability 7.0, expected 8.0 or newer");
}

TEST_F(CudaRuntime, DescribesAGpu) {
  standin::machine().gpus = 2;
  const OwnedTensor taken(DType::kFloat32, {1024}, kGpu);
  const cuda::DeviceInfo info = cuda::describe_device(1);
  EXPECT_EQ(info.name, "a GPU that stands in");
  EXPECT_EQ(info.uuid.size(), 32U);
  EXPECT_EQ(info.uuid.substr(0, 8), "ab010000");
  EXPECT_EQ(info.total_bytes, kGiB);
  EXPECT_EQ(info.free_bytes, kGiB - 4096);
  EXPECT_EQ(info.multiprocessors, 2);
}

TEST_F(CudaRuntime, SaysHowMuchMemoryWasAskedForAndIsThere) {
  EXPECT_EQ(message_of<OutOfMemoryError>([] { cuda::allocate(2 * kGiB, 0); }),
            "cuda:0: out of memory: 2.0 GiB asked for, 1.0 GiB free of 1.0 GiB");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // the next launch does not find it
  EXPECT_EQ(message_of<OutOfMemoryError>([] { cuda::allocate_pinned(int64_t{1} << 50); }),
            "out of pinned memory: 1024.0 TiB asked for");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CudaRuntime, MemoryOfEveryKindIsZeroAndHoldsWhatIsCopied) {
  for (const BufferKind kind : {BufferKind::kOwn, BufferKind::kPinned}) {
    OwnedTensor tensor(DType::kFloat32, {3}, kGpu, kind);
    EXPECT_EQ(values_of(tensor), std::vector<float>(3));
    tensor = holding({1, 2, 3}, kind);
    EXPECT_EQ(values_of(tensor), (std::vector<float>{1, 2, 3}));
    fill_zero(tensor.view().rows(1, 2), kGpu);
    EXPECT_EQ(values_of(tensor), (std::vector<float>{1, 0, 0}));
    const OwnedTensor copy = holding({4, 5}, kind);
    copy_tensor(tensor.view().rows(1, 2), copy.view(), kGpu);
    EXPECT_EQ(values_of(tensor), (std::vector<float>{1, 4, 5}));
  }
}

TEST_F(CudaRuntime, AnErrorIsToldOnceByTheCallThatMadeIt) {
  OwnedTensor tensor(DType::kFloat32, {3}, kGpu);
  EXPECT_EQ(message_of<DeviceError>([&] { cuda::fill_zero(tensor.view().data, 13); }),
            "cudaMemset: invalid argument (cudaErrorInvalidValue)");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cuda::fill_zero(tensor.view().data, 12);
}

}  // namespace

}  // namespace segue
