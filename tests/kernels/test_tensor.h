// Tensors of tests: operations see their elements on the device, tests on the CPU.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "base/tensor.h"
#include "tests/kernels/test_device.h"

namespace segue::kernels {

// view() is for operations, as() for tests. What was written on one side goes to the other when that is asked for,
// after all work that the device was given; so ask again after the other side had its turn.
class TestTensor {
 public:
  TestTensor() = default;
  TestTensor(DType dtype, const Shape& shape)
      : host_(dtype, shape), device_(on_gpu() ? OwnedTensor(dtype, shape, test_device()) : OwnedTensor()) {}

  const Shape& shape() const { return host_.shape(); }

  TensorView view() {
    if (!on_gpu()) return host_.view();
    bring_to_device();
    newer_ = Side::kDevice;
    return device_.view();
  }
  ConstTensorView view() const {
    if (!on_gpu()) return host_.view();
    bring_to_device();
    return device_.view();
  }

  template <typename T>
  T* as() {
    bring_to_host();
    newer_ = Side::kHost;
    return host_.as<T>();
  }
  template <typename T>
  const T* as() const {
    bring_to_host();
    return host_.as<T>();
  }

 private:
  enum class Side : uint8_t { kNeither, kHost, kDevice };

  static bool on_gpu() { return test_device().is_cuda(); }
  void bring_to_device() const {
    if (newer_ != Side::kHost) return;
    copy_tensor(device_.view(), host_.view(), test_device());
    newer_ = Side::kNeither;
  }
  void bring_to_host() const {
    if (newer_ != Side::kDevice) return;
    copy_tensor(host_.view(), device_.view(), test_device());
    newer_ = Side::kNeither;
  }

  mutable OwnedTensor host_, device_;
  mutable Side newer_ = Side::kNeither;
};

}  // namespace segue::kernels
