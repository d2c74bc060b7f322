// Tests above the stand-ins for CUDA's libraries: each begins with a machine of its own and leaves nothing on it.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "base/buffer.h"
#include "tests/cuda_standins/machine.h"

namespace segue {

constexpr Device kGpu{DeviceKind::kCuda, 0};
constexpr uint64_t kOrders = 16;  // in which streams advance: as many seeds find every one that a few streams can have

class OnStandIns : public testing::Test {
 protected:
  void SetUp() override { standin::reset(); }
  void TearDown() override { EXPECT_EQ(standin::live_objects(), 0); }
};

// A float32 tensor with these values.
inline OwnedTensor holding(const std::vector<float>& values, BufferKind kind = BufferKind::kOwn) {
  const Shape shape{static_cast<int64_t>(values.size())};
  OwnedTensor tensor(DType::kFloat32, shape, kGpu, kind);
  copy_tensor(tensor.view(), view_of(values.data(), shape), kGpu);
  return tensor;
}

// Waits for the whole GPU first.
inline std::vector<float> values_of(const OwnedTensor& tensor) {
  const OwnedTensor host = host_copy(tensor.view(), kGpu);
  return {host.as<float>(), host.as<float>() + host.shape().elements()};
}

}  // namespace segue
