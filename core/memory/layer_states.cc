// What a segment leaves takes the place of what it found.
#include "core/memory/layer_states.h"

#include <fmt/format.h>

#include "core/config/layers.h"

namespace segue {

LayerStates::LayerStates(const ModelConfig& model, int64_t streams, Device device) : device_(device) {
  const Shape shape{streams, model.n_head, model.d_head, model.d_head};
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    if (!keeps_state(model, layer)) continue;
    numbers_.push_back(layer);
    layers_.emplace_back(DType::kFloat32, shape, device);
  }
}

void LayerStates::bind(SegmentTape& segment) const {
  for (size_t i = 0; i < layers_.size(); ++i) segment.tape.bind(segment.states[i], layers_[i].view());
}

void LayerStates::update(kernels::Queue& queue, const SegmentTape& segment) {
  for (size_t i = 0; i < layers_.size(); ++i) queue.copy(layers_[i].view(), segment.tape.read(segment.new_states[i]));
}

void LayerStates::reset() {
  for (OwnedTensor& layer : layers_) fill_zero(layer.view(), device_);
}

int64_t LayerStates::bytes() const {
  int64_t bytes = 0;
  for (const OwnedTensor& layer : layers_) bytes += layer.view().bytes();
  return bytes;
}

std::vector<NamedTensor> LayerStates::state() const {
  std::vector<NamedTensor> state;
  for (size_t i = 0; i < layers_.size(); ++i)
    state.push_back({fmt::format("states.{}", numbers_[i]), layers_[i].view()});
  return state;
}

void LayerStates::check(std::span<const ConstTensorView> saved) const {
  if (saved.size() != layers_.size())
    throw CheckpointError("states of {} layers, expected {}", saved.size(), layers_.size());
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Shape& expected = layers_[i].shape();
    if (saved[i].dtype != DType::kFloat32 || saved[i].shape != expected)
      throw CheckpointError("the state of layer {} is {} {}, expected float32 {}", numbers_[i], name_of(saved[i].dtype),
                            saved[i].shape.text(), expected.text());
  }
}

void LayerStates::restore(std::span<const ConstTensorView> saved) {
  check(saved);
  for (size_t i = 0; i < layers_.size(); ++i) copy_tensor(layers_[i].view(), saved[i], device_);
}

StateMemory::StateMemory(const ModelConfig& model, const ModelUse& use, int64_t streams, const Compute& compute)
    : rows_(memory_shape(model, use, streams), compute), states_(model, streams, compute.device) {}

void StateMemory::fit(SegmentShape& shape) const {
  rows_.fit(shape);
  shape.most_remembered = rows_.most();
}

void StateMemory::bind(SegmentTape& segment) {
  rows_.bind(segment);
  states_.bind(segment);
}

void StateMemory::update(kernels::Queue& queue, const SegmentTape& segment) {
  rows_.update(queue, segment);
  states_.update(queue, segment);
}

void StateMemory::reset() {
  rows_.reset();
  states_.reset();
}

std::vector<NamedTensor> StateMemory::state() const {
  std::vector<NamedTensor> state = rows_.state();
  for (NamedTensor& each : states_.state()) state.push_back(std::move(each));
  return state;
}

void StateMemory::restore(std::span<const ConstTensorView> state) {
  const auto count = static_cast<size_t>(states_.count());
  if (state.size() < count) throw CheckpointError("states of {} layers, expected {}", state.size(), count);
  states_.check(state.last(count));
  rows_.restore(state.first(state.size() - count));
  states_.restore(state.last(count));
}

}  // namespace segue
