// Memory and streams of a GPU, on the emulated one.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/buffer.h"
#include "base/cuda.h"
#include "kernels/cuda/queue.h"
#include "kernels/queue.h"
#include "tests/simt/stream.h"

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
  for (const BufferKind kind : {BufferKind::kOwn, BufferKind::kPinned}) {
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

TEST(DeviceQueue, CopiesAndClearsOnEitherDevice) {
  for (const Device device : {Device{}, kGpu}) {
    kernels::Queue queue(device, 1);
    EXPECT_EQ(queue.device(), device);
    const OwnedTensor from = counting_tensor(device);
    OwnedTensor to(DType::kInt32, {5}, device);
    queue.copy(to.view(), from.view());
    queue.synchronize();
    expect_counting(to.view(), device);
    queue.fill_zero(to.view().rows(0, 4));
    queue.synchronize();
    const OwnedTensor host = host_copy(to.view(), device);
    EXPECT_EQ(host.as<int32_t>()[3], 0);
    EXPECT_EQ(host.as<int32_t>()[4], 5);
    EXPECT_THROW(queue.copy(to.view().rows(0, 2), from.view()), ContractError);
  }
}

// Code that forgets to wait must find what was there before, as it may on hardware.
TEST(DeviceQueue, DoesNothingBeforeItIsWaitedFor) {
  kernels::Queue queue(kGpu, 1), other(kGpu, 1);
  OwnedTensor tensor = counting_tensor(kGpu);
  const int32_t& last = tensor.as<int32_t>()[4];  // the emulated GPU's memory is the host's
  queue.fill_zero(tensor.view());
  other.synchronize();
  EXPECT_EQ(last, 5);
  cuda::Fence fence;
  fence.set(queue.cuda().stream());
  fence.hold(other.cuda().stream());
  EXPECT_EQ(last, 5);
  other.synchronize();
  EXPECT_EQ(last, 0);
}

TEST(DeviceMemory, RoundsAndWidensOnTheWay) {
  OwnedTensor values(DType::kFloat32, {3});
  for (int i = 0; i < 3; ++i) values.as<float>()[i] = 1.0F + static_cast<float>(i) / 256.0F;
  for (const Device device : {Device{}, kGpu}) {
    const OwnedTensor rounded = converted_copy(values.view(), DType::kBFloat16, device);
    EXPECT_EQ(rounded.device(), device);
    OwnedTensor widened(DType::kFloat32, {3});
    convert(widened.view(), HostTensor(rounded.view(), device).view());
    EXPECT_EQ(widened.as<float>()[0], 1.0F);
    EXPECT_EQ(widened.as<float>()[1], 1.0F);  // halfway: to the even one
    EXPECT_EQ(widened.as<float>()[2], 1.0F + 2.0F / 256.0F);
  }
}

class DeviceGraph : public testing::Test {
 protected:
  void record() {
    graph_.record(queue_.cuda(), [&] { queue_.copy(to_.view(), from_.view()); });
  }

  // Fences bring the work of another stream into a graph, which must wait for it in the end.
  void record_beside(bool waits) {
    graph_.record(queue_.cuda(), [&] {
      fork_.set(queue_.cuda().stream());
      fork_.hold(beside_.cuda().stream());
      watch_.start(beside_.cuda().stream());
      beside_.copy(to_.view(), from_.view());
      watch_.stop(beside_.cuda().stream());
      join_.set(beside_.cuda().stream());
      if (waits) join_.hold(queue_.cuda().stream());
    });
  }

  // The work in a graph happens when it is launched, as often as that is.
  void expect_a_copy_by_each_launch() {
    EXPECT_EQ(host_copy(to_.view(), kGpu).as<int32_t>()[4], 0);
    for (int i = 0; i < 2; ++i) {
      queue_.fill_zero(to_.view());
      graph_.launch(queue_.cuda());
      queue_.synchronize();
      expect_counting(to_.view(), kGpu);
    }
  }

  kernels::Queue queue_{kGpu, 1};
  kernels::Queue beside_{kGpu, 1};
  OwnedTensor from_ = counting_tensor(kGpu);
  OwnedTensor to_{DType::kInt32, {5}, kGpu};
  cuda::Fence fork_, join_;
  cuda::Stopwatch watch_;
  cuda::Graph graph_;
};

TEST_F(DeviceGraph, RepeatsItsWork) {
  EXPECT_FALSE(graph_.is_recorded());
  record();
  EXPECT_TRUE(graph_.is_recorded());
  expect_a_copy_by_each_launch();
  EXPECT_THROW(graph_.record(queue_.cuda(), [&] { queue_.synchronize(); }), DeviceError);
  EXPECT_TRUE(graph_.is_recorded());  // what was recorded before
}

TEST_F(DeviceGraph, HoldsTheWorkOfStreamsBesideItsOwn) {
  record_beside(true);
  expect_a_copy_by_each_launch();
  EXPECT_GT(watch_.seconds(), 0.0);
  EXPECT_THROW(record_beside(false), DeviceError);
  beside_.fill_zero(to_.view());  // is no longer recorded
  EXPECT_EQ(host_copy(to_.view(), kGpu).as<int32_t>()[4], 0);
}

struct GaveUp {};

TEST(DeviceQueue, WaitsTellTheirWatchHowLongTheyLast) {
  kernels::Queue queue(kGpu, 1);
  cuda::Fence fence;
  fence.set(queue.cuda().stream());
  double longest = 0.0;
  queue.watch_with([&](double seconds) {
    EXPECT_GE(seconds, longest);
    longest = seconds;
    if (seconds > 0.05) throw GaveUp();
  });
  queue.synchronize();
  queue.cuda().wait_for(fence);
  EXPECT_EQ(longest, 0.0);
  OwnedTensor memory(DType::kFloat32, {1}, kGpu);
  cuda::emulated(queue.cuda().stream()).queued->is_stalled = true;
  EXPECT_TRUE(fence.has_come());
  queue.fill_zero(memory.view());
  fence.set(queue.cuda().stream());
  EXPECT_THROW(queue.synchronize(), GaveUp);
  EXPECT_GT(longest, 0.05);
  longest = 0.0;
  EXPECT_THROW(queue.cuda().wait_for(fence), GaveUp);
  cuda::emulated(queue.cuda().stream()).queued->is_stalled = false;
  queue.synchronize();
}

TEST(DeviceQueue, AWatchOnTheCpuHasNothingToDo) {
  kernels::Queue queue(1);
  queue.watch_with([](double) { throw GaveUp(); });
  queue.synchronize();
}

TEST(DeviceQueue, OnlyAGpuHasAQueue) {
  kernels::Queue cpu(1);
  EXPECT_THROW(cpu.cuda(), ContractError);
  kernels::Queue gpu(kGpu, 1);
  EXPECT_EQ(gpu.cuda().device(), 0);
}

TEST(DeviceQueue, RefusesAGpuThatIsNotThere) {
  try {
    const kernels::Queue queue({DeviceKind::kCuda, 3}, 1);
    ADD_FAILURE() << "opened";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "cuda:3: no such device; this machine has 1, counted from 0");
  }
}

}  // namespace
}  // namespace segue
