#include "core/memory/segment_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cuda.h"
#include "core/config/layers.h"
#include "core/model/transformer.h"
#include "kernels/segment_memory.h"

namespace segue {

SegmentMemoryShape memory_shape(const ModelConfig& model, const ModelUse& use, int64_t streams) {
  const Remembered form = remembered_in_training(model);
  std::vector<int64_t> numbers;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    if (!keeps_state(model, layer)) numbers.push_back(layer);
  }
  return {.layers = std::ssize(numbers),
          .numbers = numbers,
          .streams = streams,
          .mem_len = use.mem_len,
          .width = remembered_width(model, form),
          .starts_full = use.starts_full(),
          .form = form};
}

SegmentMemory::SegmentMemory(const SegmentMemoryShape& shape, const Compute& compute)
    : shape_(shape), compute_(compute), mem_len_(shape.mem_len), length_(shape.starts_full ? mem_len_ : 0) {
  for (int64_t l = 0; l < shape.layers; ++l) {
    layers_.emplace_back(compute.activations, Shape{shape.streams, shape.mem_len, shape.width}, compute.device);
  }
}

ConstTensorView SegmentMemory::layer(int64_t l) const {
  const OwnedTensor& owner = layers_[static_cast<size_t>(l)];
  return {owner.view().data, compute_.activations, {shape_.streams, length_, shape_.width}};
}

TensorView SegmentMemory::rows(int64_t l, int64_t length) {
  return {layers_[static_cast<size_t>(l)].view().data, compute_.activations, {shape_.streams, length, shape_.width}};
}

void SegmentMemory::reset() {
  length_ = shape_.starts_full ? mem_len_ : 0;
  for (OwnedTensor& owner : layers_) {
    fill_zero(owner.view(), compute_.device);
  }
}

void SegmentMemory::set_mem_len(kernels::Queue& queue, int64_t mem_len) {
  if (mem_len < 0 || mem_len > shape_.mem_len)
    throw ContractError("a memory of {} rows, expected 0 to {}", mem_len, shape_.mem_len);
  mem_len_ = mem_len;
  if (length_ <= mem_len) return;
  const ConstTensorView nothing{nullptr, compute_.activations, {shape_.streams, 0, shape_.width}};
  for (int64_t l = 0; l < shape_.layers; ++l)
    kernels::segment_memory_update(queue, {.memory = layer(l), .hidden = nothing, .updated = rows(l, mem_len)});
  length_ = mem_len;
}

void SegmentMemory::fit(SegmentShape& shape) const {
  shape.remembered = shape_.form;
  shape.memory_rows = length_;
}

void SegmentMemory::bind(SegmentTape& segment) {
  for (size_t l = 0; l < segment.memories.size(); ++l)
    segment.tape.bind(segment.memories[l], layer(static_cast<int64_t>(l)));
}

void SegmentMemory::update(kernels::Queue& queue, const SegmentTape& segment) {
  fresh_.clear();
  for (const Slot slot : segment.fresh) fresh_.push_back(segment.tape.read(slot));
  update(queue, fresh_);
}

void SegmentMemory::update(kernels::Queue& queue, std::span<const ConstTensorView> fresh) {
  if (std::ssize(fresh) != shape_.layers) throw ContractError("rows of {} layers for {}", fresh.size(), shape_.layers);
  if (mem_len_ == 0) return;
  const cuda::Range range("segment_memory");
  const int64_t updated = std::min(mem_len_, length_ + fresh[0].shape[1]);
  for (int64_t l = 0; l < shape_.layers; ++l) {
    kernels::segment_memory_update(
        queue, {.memory = layer(l), .hidden = fresh[static_cast<size_t>(l)], .updated = rows(l, updated)});
  }
  length_ = updated;
}

std::vector<NamedTensor> SegmentMemory::state() const {
  std::vector<NamedTensor> state;
  for (int64_t l = 0; l < shape_.layers; ++l) state.push_back({fmt::format("layers.{}", number(l)), layer(l)});
  return state;
}

void SegmentMemory::restore(std::span<const ConstTensorView> layers) {
  const bool has_rows = !layers.empty() && layers[0].shape.rank() == 3;
  const int64_t length = has_rows ? layers[0].shape[1] : 0;
  const Shape expected{shape_.streams, length, shape_.width};
  if (std::ssize(layers) != shape_.layers || length > shape_.mem_len) {
    throw CheckpointError("memory of {} layers and {} rows, expected {} layers and at most {} rows", layers.size(),
                          length, shape_.layers, shape_.mem_len);
  }
  for (int64_t l = 0; l < shape_.layers; ++l) {
    const ConstTensorView& saved = layers[static_cast<size_t>(l)];
    if (saved.shape.rank() != expected.rank())
      throw CheckpointError("memory of layer {} is {} {}, expected three extents", number(l), name_of(saved.dtype),
                            saved.shape.text());
    if (saved.shape != expected || (saved.dtype != DType::kFloat32 && saved.dtype != DType::kBFloat16)) {
      throw CheckpointError("memory of layer {} is {} {}, expected {} {}", number(l), name_of(saved.dtype),
                            saved.shape.text(), name_of(compute_.activations), expected.text());
    }
  }
  for (int64_t l = 0; l < shape_.layers; ++l) {
    OwnedTensor rounded(compute_.activations, expected);
    convert(rounded.view(), layers[static_cast<size_t>(l)]);
    copy_tensor(rows(l, length), rounded.view(), compute_.device);
  }
  length_ = length;
}

int64_t SegmentMemory::bytes() const {
  return shape_.layers * shape_.streams * shape_.mem_len * shape_.width * bytes_of(compute_.activations);
}

}  // namespace segue
