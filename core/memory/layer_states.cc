// After a segment its states replace those that it began with.
#include "core/memory/layer_states.h"

#include <fmt/format.h>

#include "core/config/carried.h"

namespace segue {

LayerStates::LayerStates(const ModelConfig& model, int64_t streams, Device device, bool in_parts) : device_(device) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    for (const CarriedTensor& carried : carried_tensors(model, layer)) {
      names_.push_back(carried.name);
      tensors_.emplace_back(DType::kFloat32, of_streams(streams, carried.shape), device);
      const bool is_begun = in_parts && carried.change == CarriedChange::kGathered;
      begun_.push_back(is_begun ? OwnedTensor(DType::kFloat32, tensors_.back().shape(), device) : OwnedTensor());
      change_at_ends_ = change_at_ends_ || carried.change != CarriedChange::kWithTokens;
    }
  }
}

void LayerStates::bind(SegmentTape& segment) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const CarriedSlots& slots = segment.carried[i];
    segment.tape.bind(slots.before, tensors_[i].view());
    if (slots.begun.exists()) segment.tape.bind(slots.begun, begun_[i].view());
  }
}

void LayerStates::update(kernels::Queue& queue, const SegmentTape& segment) {
  if (segment.carried.size() != tensors_.size())
    throw ContractError("{} states for {} that layers hand on", segment.carried.size(), tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const CarriedSlots& slots = segment.carried[i];
    if (slots.new_begun.exists()) queue.copy(begun_[i].view(), segment.tape.read(slots.new_begun));
    if (slots.after.exists()) queue.copy(tensors_[i].view(), segment.tape.read(slots.after));
  }
}

void LayerStates::reset() {
  for (OwnedTensor& tensor : tensors_) fill_zero(tensor.view(), device_);
}

int64_t LayerStates::bytes() const {
  int64_t bytes = 0;
  for (const OwnedTensor& tensor : tensors_) bytes += tensor.view().bytes();
  for (const OwnedTensor& tensor : begun_) bytes += tensor.view().bytes();
  return bytes;
}

std::vector<NamedTensor> LayerStates::state() const {
  std::vector<NamedTensor> state;
  for (size_t i = 0; i < tensors_.size(); ++i) state.push_back({names_[i], tensors_[i].view()});
  return state;
}

void LayerStates::check(std::span<const ConstTensorView> saved) const {
  if (saved.size() != tensors_.size())
    throw CheckpointError("expected {} tensors of states, found {}", tensors_.size(), saved.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Shape& expected = tensors_[i].shape();
    if (saved[i].dtype != DType::kFloat32 || saved[i].shape != expected)
      throw CheckpointError("{} is {} {}, expected float32 {}", names_[i], name_of(saved[i].dtype),
                            saved[i].shape.text(), expected.text());
  }
}

void LayerStates::restore(std::span<const ConstTensorView> saved) {
  check(saved);
  for (size_t i = 0; i < tensors_.size(); ++i) copy_tensor(tensors_[i].view(), saved[i], device_);
}

StateMemory::StateMemory(const ModelConfig& model, const ModelUse& use, int64_t streams, const Compute& compute)
    : rows_(memory_shape(model, use, streams), compute), states_(model, streams, compute.device) {}

void StateMemory::fit(SegmentShape& shape) const {
  rows_.fit(shape);
  shape.mem_len = rows_.mem_len();
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
  if (state.size() < count) throw CheckpointError("expected {} tensors of states, found {}", count, state.size());
  states_.check(state.last(count));
  rows_.restore(state.first(state.size() - count));
  states_.restore(state.last(count));
}

}  // namespace segue
