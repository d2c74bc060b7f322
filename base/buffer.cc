// Aligned, zero-filled memory of the CPU or a GPU.
#include "base/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/bfloat16.h"
#include "base/cuda.h"

namespace segue {

namespace {

constexpr size_t kAlignment = 64;  // one cache line, and the width of an AVX-512 register
constexpr uintptr_t kHugePage = uintptr_t{2} << 20;

void* allocate_on_gpu(int64_t bytes, int index, BufferKind kind) {
  return kind == BufferKind::kPinned ? cuda::allocate_pinned(bytes) : cuda::allocate(bytes, index);
}

// Rows of a matrix lie on many small pages, more than a processor keeps the addresses of. No more than advice: the
// kernel may have none to give.
void ask_for_huge_pages(void* block, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (address + bytes) / kHugePage * kHugePage;
  if (begin < end) madvise(static_cast<std::byte*>(block) + (begin - address), end - begin, MADV_HUGEPAGE);
}

}  // namespace

// Built on an empty one, so that the destructor frees what was allocated when filling it fails.
Buffer::Buffer(int64_t bytes, Device device, BufferKind kind) : Buffer() {
  if (bytes < 0) throw ContractError("buffer of {} bytes", bytes);
  bytes_ = bytes;
  device_ = device;
  kind_ = kind;
  if (bytes == 0) return;
  if (device.is_cuda()) {
    block_ = allocate_on_gpu(bytes, device.index, kind);
    data_ = static_cast<std::byte*>(block_);
    cuda::fill_zero(data_, bytes);
    return;
  }
  size_t room = static_cast<size_t>(bytes) + kAlignment;
  block_ = std::calloc(room, 1);
  if (block_ == nullptr) throw OutOfMemoryError("out of memory: {} bytes asked for", bytes);
  ask_for_huge_pages(block_, room);
  void* aligned = block_;
  data_ = static_cast<std::byte*>(std::align(kAlignment, static_cast<size_t>(bytes), aligned, room));
}

Buffer::~Buffer() {
  if (block_ == nullptr) return;
  if (!device_.is_cuda()) {
    std::free(block_);
  } else if (kind_ == BufferKind::kPinned) {
    cuda::release_pinned(block_);
  } else {
    cuda::release(block_);
  }
}

Buffer::Buffer(Buffer&& other) noexcept
    : block_(std::exchange(other.block_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      device_(other.device_),
      kind_(other.kind_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(block_, other.block_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  std::swap(kind_, other.kind_);
  return *this;
}

OwnedTensor::OwnedTensor(DType dtype, const Shape& shape, Device device, BufferKind kind)
    : buffer_(shape.elements() * bytes_of(dtype), device, kind), dtype_(dtype), shape_(shape) {}

void copy_tensor(TensorView to, ConstTensorView from, Device device) {
  if (to.dtype != from.dtype || to.elements() != from.elements()) {
    throw ContractError("cannot copy {} {} to {} {}", name_of(from.dtype), from.shape.text(), name_of(to.dtype),
                        to.shape.text());
  }
  if (from.empty()) return;
  if (device.is_cuda()) {
    cuda::copy(to.data, from.data, from.bytes());
  } else {
    std::memcpy(to.data, from.data, static_cast<size_t>(from.bytes()));
  }
}

void fill_zero(TensorView tensor, Device device) {
  if (tensor.empty()) return;
  if (device.is_cuda()) {
    cuda::fill_zero(tensor.data, tensor.bytes());
  } else {
    std::memset(tensor.data, 0, static_cast<size_t>(tensor.bytes()));
  }
}

void convert(TensorView to, ConstTensorView from) {
  if (to.dtype == from.dtype) return copy_tensor(to, from, {});
  if (to.elements() != from.elements())
    throw ContractError("cannot convert {} to {}", from.shape.text(), to.shape.text());
  if (to.dtype == DType::kBFloat16) {
    const float* values = from.as<float>();
    std::transform(values, values + from.elements(), to.as<BFloat16>(), [](float value) { return BFloat16(value); });
  } else {
    const BFloat16* values = from.as<BFloat16>();
    std::transform(values, values + from.elements(), to.as<float>(), [](BFloat16 v) { return static_cast<float>(v); });
  }
}

OwnedTensor converted_copy(ConstTensorView from, DType dtype, Device device) {
  OwnedTensor host(dtype, from.shape);
  convert(host.view(), from);
  if (!device.is_cuda()) return host;
  OwnedTensor copy(dtype, from.shape, device);
  copy_tensor(copy.view(), host.view(), device);
  return copy;
}

HostTensor::HostTensor(ConstTensorView tensor, Device device)
    : copy_(device.is_cuda() ? host_copy(tensor, device) : OwnedTensor()),
      view_(device.is_cuda() ? ConstTensorView(copy_.view()) : tensor) {}

HostTensor::HostTensor(OwnedTensor tensor) : copy_(std::move(tensor)), view_(copy_.view()) {}

OwnedTensor host_copy(ConstTensorView from, Device device) {
  OwnedTensor copy(from.dtype, from.shape);
  copy_tensor(copy.view(), from, device);
  return copy;
}

}  // namespace segue
