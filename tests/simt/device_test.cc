// Memory and streams of a GPU, on the emulated one.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/buffer.h"
#include "base/cuda.h"
#include "kernels/cuda/queue.h"
#include "kernels/stream.h"

namespace segue {
namespace {

constexpr Device kGpu{DeviceKind::kCuda, 0};

OwnedTensor counting_tensor(Device device) {
  OwnedTensor host(DType::kInt32, {5});
  for (int i = 0; i < 5; ++i) host.as<int32_t>()[i] = i + 1;
  OwnedTensor tensor(DType::kInt32, {5}, device);
  copy_tensor(tensor.view(), host.view(), device);
  return tensor;
}

void expect_counting(ConstTensorView found, Device device) {
  const OwnedTensor host = host_copy(found, device);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(host.as<int32_t>()[i], i + 1);
}

TEST(DeviceMemory, IsZeroAndKnowsItsDevice) {
  for (const BufferKind kind : {BufferKind::kOwn, BufferKind::kPinned, BufferKind::kUnified}) {
    const Buffer buffer(1000, kGpu, kind);
    EXPECT_EQ(buffer.device(), kGpu);
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + 1000, [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(DeviceMemory, MovesWithItsDevice) {
  OwnedTensor first = counting_tensor(kGpu);
  OwnedTensor second = std::move(first);
  EXPECT_EQ(second.device(), kGpu);
  OwnedTensor third(DType::kInt32, {1});
  third = std::move(second);
  EXPECT_EQ(third.device(), kGpu);
  expect_counting(third.view(), kGpu);
}

TEST(DeviceMemory, CopiesThereAndBack) {
  expect_counting(counting_tensor(kGpu).view(), kGpu);
  expect_counting(counting_tensor({}).view(), {});
  OwnedTensor shorter(DType::kInt32, {4});
  EXPECT_THROW(copy_tensor(shorter.view(), counting_tensor({}).view(), {}), ContractError);
}

TEST(DeviceStream, CopiesAndClearsOnEitherDevice) {
  for (const Device device : {Device{}, kGpu}) {
    kernels::Stream stream(device, 1);
    EXPECT_EQ(stream.device(), device);
    const OwnedTensor from = counting_tensor(device);
    OwnedTensor to(DType::kInt32, {5}, device);
    stream.copy(to.view(), from.view());
    stream.synchronize();
    expect_counting(to.view(), device);
    stream.fill_zero(to.view().rows(0, 4));
    stream.synchronize();
    const OwnedTensor host = host_copy(to.view(), device);
    EXPECT_EQ(host.as<int32_t>()[3], 0);
    EXPECT_EQ(host.as<int32_t>()[4], 5);
    EXPECT_THROW(stream.copy(to.view().rows(0, 2), from.view()), ContractError);
  }
}

TEST(DeviceStream, OnlyAGpuHasAQueue) {
  kernels::Stream cpu(1);
  EXPECT_THROW(cpu.cuda(), ContractError);
  kernels::Stream gpu(kGpu, 1);
  EXPECT_EQ(gpu.cuda().device(), 0);
}

TEST(DeviceStream, RefusesAGpuThatIsNotThere) {
  try {
    const kernels::Stream stream({DeviceKind::kCuda, 3}, 1);
    ADD_FAILURE() << "opened";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "cuda:3: no such device; this machine has 1, counted from 0");
  }
}

}  // namespace
}  // namespace segue
