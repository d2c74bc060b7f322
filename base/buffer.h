// Owners of raw memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"
#include "base/tensor.h"

namespace segue {

// Who may read and write a block.
enum class BufferKind : uint8_t {
  kOwn,     // its device alone
  kPinned,  // the CPU; a GPU copies from and to it while the CPU continues
};

// A block of memory, zero-filled, aligned to 64 bytes; movable, not copyable. Untouched pages of a large block of the
// CPU cost nothing.
class Buffer {
 public:
  Buffer() = default;
  // Throws DeviceError naming the size when memory is exhausted. On the CPU every kind is the same.
  explicit Buffer(int64_t bytes, Device device = {}, BufferKind kind = BufferKind::kOwn);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  Device device() const { return device_; }

 private:
  void* block_ = nullptr;      // as allocated
  std::byte* data_ = nullptr;  // its first aligned byte
  int64_t bytes_ = 0;
  Device device_;
  BufferKind kind_ = BufferKind::kOwn;
};

// A tensor that owns its elements.
class OwnedTensor {
 public:
  OwnedTensor() = default;
  OwnedTensor(DType dtype, const Shape& shape, Device device = {}, BufferKind kind = BufferKind::kOwn);  // zero-filled

  TensorView view() { return {buffer_.data(), dtype_, shape_}; }
  ConstTensorView view() const { return {buffer_.data(), dtype_, shape_}; }
  const Shape& shape() const { return shape_; }
  Device device() const { return buffer_.device(); }
  template <typename T>
  T* as() {
    return view().as<T>();
  }
  template <typename T>
  const T* as() const {
    return view().as<T>();
  }

 private:
  Buffer buffer_;
  DType dtype_ = DType::kFloat32;
  Shape shape_{0};
};

// to = from, of equal size, when one of them may lie on `device`; waits for the device first and returns when done.
void copy_tensor(TensorView to, ConstTensorView from, Device device);

// The same for tensor = 0.
void fill_zero(TensorView tensor, Device device);

// to = from, rounded or widened: float32 and bfloat16, both on the CPU.
void convert(TensorView to, ConstTensorView from);

// A copy on `device` of a tensor of the CPU, rounded or widened to `dtype`.
OwnedTensor converted_copy(ConstTensorView from, DType dtype, Device device);

// A copy on the CPU of a tensor that may lie on `device`.
OwnedTensor host_copy(ConstTensorView from, Device device);

// A tensor for the CPU to read: the tensor itself, or a copy when it lies on a GPU.
class HostTensor {
 public:
  HostTensor(ConstTensorView tensor, Device device);
  explicit HostTensor(OwnedTensor tensor);  // of the CPU
  ConstTensorView view() const { return view_; }

 private:
  OwnedTensor copy_;
  ConstTensorView view_;
};

}  // namespace segue
