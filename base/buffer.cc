// Aligned, zero-filled host memory.
#include "base/buffer.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace segue {

namespace {
constexpr int64_t kAlignment = 64;  // one cache line, and the width of an AVX-512 register
}

Buffer::Buffer(int64_t bytes) : bytes_(bytes) {
  if (bytes < 0) throw ContractError("buffer of {} bytes", bytes);
  if (bytes == 0) return;
  const size_t rounded = static_cast<size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment);
  data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (data_ == nullptr) throw DeviceError("out of memory: {} bytes asked for", bytes);
  std::memset(data_, 0, rounded);
}

Buffer::~Buffer() { std::free(data_); }

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

OwnedTensor::OwnedTensor(DType dtype, const Shape& shape)
    : buffer_(shape.elements() * bytes_of(dtype)), dtype_(dtype), shape_(shape) {}

}  // namespace segue
