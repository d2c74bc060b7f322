// Aligned, zero-filled host memory.
#include "base/buffer.h"

#include <cstdlib>
#include <memory>
#include <utility>

namespace segue {

namespace {
constexpr size_t kAlignment = 64;  // one cache line, and the width of an AVX-512 register
}

Buffer::Buffer(int64_t bytes) : bytes_(bytes) {
  if (bytes < 0) throw ContractError("buffer of {} bytes", bytes);
  if (bytes == 0) return;
  size_t room = static_cast<size_t>(bytes) + kAlignment;
  block_ = std::calloc(room, 1);
  if (block_ == nullptr) throw DeviceError("out of memory: {} bytes asked for", bytes);
  void* aligned = block_;
  data_ = static_cast<std::byte*>(std::align(kAlignment, static_cast<size_t>(bytes), aligned, room));
}

Buffer::~Buffer() { std::free(block_); }

Buffer::Buffer(Buffer&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

OwnedTensor::OwnedTensor(DType dtype, const Shape& shape)
    : buffer_(shape.elements() * bytes_of(dtype)), dtype_(dtype), shape_(shape) {}

}  // namespace segue
