// Owners of raw memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/tensor.h"

namespace segue {

// A block of host memory, zero-filled, aligned to 64 bytes; movable, not copyable. Pages of a large block that nobody
// touches cost nothing.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(int64_t bytes);  // throws DeviceError naming the size when memory is exhausted
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* block_ = nullptr;      // as allocated
  std::byte* data_ = nullptr;  // its first aligned byte
  int64_t bytes_ = 0;
};

// A tensor that owns its elements.
class OwnedTensor {
 public:
  OwnedTensor() = default;
  OwnedTensor(DType dtype, const Shape& shape);  // zero-filled

  TensorView view() { return {buffer_.data(), dtype_, shape_}; }
  ConstTensorView view() const { return {buffer_.data(), dtype_, shape_}; }
  const Shape& shape() const { return shape_; }
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

}  // namespace segue
