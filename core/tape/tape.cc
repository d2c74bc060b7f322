#include "core/tape/tape.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/cuda.h"
#include "core/tape/dropout_sites.h"

namespace segue {

void Arena::reserve(int64_t bytes) {
  if (bytes > buffer_.bytes()) {
    buffer_ = Buffer();  // the old one goes first: there may not be room for both
    buffer_ = Buffer(bytes, device_);
  }
}

Slot Tape::new_slot(const Shape& shape, DType dtype) {
  if (sealed_) throw ContractError("the tape is sealed");
  SlotState fresh;
  fresh.shape = shape;
  fresh.dtype = dtype;
  slots_.push_back(fresh);
  return {static_cast<int>(slots_.size()) - 1};
}

Value Tape::new_value(const Shape& shape, bool is_learned) {
  const Slot data = new_slot(shape, activations_);
  return {data, training() && is_learned ? new_slot(shape, activations_) : Slot{}};
}

Slot Tape::bound(const Shape& shape, DType dtype) {
  const Slot slot = new_slot(shape, dtype);
  state(slot).external = true;
  bound_.push_back(slot);
  return slot;
}

Slot Tape::constant(const OwnedTensor& tensor, DType dtype) {
  constants_.push_back(converted_copy(tensor.view(), dtype, device()));
  const ConstTensorView view = std::as_const(constants_.back()).view();
  const Slot slot = bound(view.shape, view.dtype);
  bind(slot, view);
  return slot;
}

GradientUse Tape::use_gradient(const Value& value) {
  if (!value.gradient.exists()) return {};
  SlotState& gradient = state(value.gradient);
  if (gradient.overwritten) {
    throw ContractError("the gradient of a {} {} has a use after the one that overwrites it", name_of(gradient.dtype),
                        gradient.shape.text());
  }
  return {value.gradient, gradient.gradient_uses++};
}

GradientUse Tape::overwrite_gradient(const Value& value) {
  const GradientUse use = use_gradient(value);
  if (use.exists()) state(use.slot).overwritten = true;
  return use;
}

void Tape::record(Operation operation) {
  if (sealed_) throw ContractError("the tape is sealed");
  if (!training() || !operation.is_learned) {
    operation.backward = nullptr;
    operation.backward_slots.clear();
    operation.parameter_gradients.clear();
    operation.flops.backward = 0.0;
    operation.backward_products.clear();
  }
  if (training() && operation.is_undone && !operation.backward)
    throw ContractError("{}: has no backward that undoes it", operation.name);
  operations_.push_back(std::move(operation));
}

void Tape::share(Slot slot, Slot owner) {
  if (state(slot).shape.elements() != state(owner).shape.elements() || state(slot).dtype != state(owner).dtype)
    throw ContractError("only tensors of one size share memory");
  state(slot).owner = owner_of(owner).index;
}

void Tape::overwrite(Slot slot, Slot owner) {
  share(slot, owner);
  state(slot).overwrites = true;
}

Slot Tape::owner_of(Slot slot) const { return state(slot).owner < 0 ? slot : Slot{state(slot).owner}; }

void Tape::keep(Slot slot) {
  if (slot.exists()) kept_.push_back(slot);
}

void Tape::Life::touch(int time) {
  first_use = first_use < 0 ? time : std::min(first_use, time);
  last_use = std::max(last_use, time);
}

bool Tape::is_second_life(const SlotState& block, const Stage& stage) {
  return block.lives_twice ? stage.is_backward : stage.part != kNoPart && stage.part == block.spared_by;
}

void Tape::touch(const std::vector<Slot>& slots, int time, const Stage& stage) {
  for (const Slot slot : slots) {
    if (!slot.exists()) continue;
    SlotState& used = state(owner_of(slot));
    (is_second_life(used, stage) ? used.again : used.life).touch(time);
  }
}

void Tape::seal() {
  if (std::exchange(sealed_, true)) throw ContractError("the tape is sealed");
  plan_parts();
  int time = 0;
  for (const Operation& operation : operations_) touch(operation.forward_slots, time++, {});
  size_t parts = parts_.size();
  for (size_t i = operations_.size(); i-- > 0;) {
    if (parts > 0 && parts_[parts - 1].end == i + 1) {
      const Stage stage{.is_backward = true, .part = static_cast<int>(--parts)};
      for (const size_t again : parts_[parts].again) touch(operations_[again].forward_slots, time++, stage);
    }
    touch(operations_[i].backward_slots, time++, {.is_backward = true});
  }
  touch(kept_, time, {.is_backward = true});
  place_slots();
  find_open_ends();
}

// Backward runs from the last operation to the first: after one of them, those recorded before it are still to come.
void Tape::find_open_ends() {
  const std::byte* open_end = nullptr;
  for (const Operation& operation : operations_) {
    open_ends_.push_back(open_end);
    for (const ConstTensorView& gradient : operation.parameter_gradients)
      open_end = std::max(open_end, gradient.data + gradient.bytes(), std::less<>());
  }
}

// Largest first, each at the lowest offset where no tensor that lives at the same time already is.
void Tape::place_slots() {
  struct Placed {
    int64_t begin, end;
    const Life* life;
  };
  struct ToPlace {
    int64_t bytes;
    Life* life;
  };
  // As libraries of GPUs choose their products by alignment: by this one wherever a tensor lies, and so also where it
  // lies when it is computed again.
  constexpr int64_t kSlotAlignment = 256;
  std::vector<ToPlace> order;
  for (SlotState& slot : slots_) {
    if (slot.external) continue;
    for (Life* life : {&slot.life, &slot.again})
      if (life->first_use >= 0) order.push_back({slot.shape.elements() * bytes_of(slot.dtype), life});
  }
  std::ranges::stable_sort(order, std::greater<>(), &ToPlace::bytes);

  std::vector<Placed> placed;  // in increasing order of `begin`
  for (const auto& [bytes, life] : order) {
    const int64_t size = (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    int64_t begin = 0;
    for (const Placed& other : placed) {
      if (other.life->last_use < life->first_use || life->last_use < other.life->first_use) continue;
      if (begin + size <= other.begin) break;
      begin = std::max(begin, other.end);
    }
    life->offset = begin;
    const Placed mine{begin, begin + size, life};
    placed.insert(std::ranges::upper_bound(placed, begin, std::less<>(), &Placed::begin), mine);
    planned_bytes_ = std::max(planned_bytes_, mine.end);
  }
}

void Tape::bind(Slot slot, ConstTensorView view) {
  SlotState& target = state(slot);
  if (!target.external) throw ContractError("only bound tensors can be bound");
  if (view.shape != target.shape || view.dtype != target.dtype) {
    throw ContractError("bound tensor is {} {}, expected {} {}", name_of(view.dtype), view.shape.text(),
                        name_of(target.dtype), target.shape.text());
  }
  target.external_view = view;
}

std::vector<const std::byte*> Tape::bound_addresses() const {
  std::vector<const std::byte*> addresses;
  for (const Slot slot : bound_) addresses.push_back(state(slot).external_view.data);
  return addresses;
}

void Tape::forward(kernels::Queue& queue) {
  arena_.reserve(planned_bytes_);
  for (const Operation& operation : operations_) run_forward(operation, "forward", queue);
}

void Tape::backward(kernels::Queue& queue, const GradientProgress& progress) {
  struct InBackward {
    Stage& stage;
    ~InBackward() { stage = {}; }
  } const guard{stage_};
  stage_.is_backward = true;
  size_t parts = parts_.size();
  for (size_t i = operations_.size(); i-- > 0;) {
    if (parts > 0 && parts_[parts - 1].end == i + 1) {
      stage_.part = static_cast<int>(--parts);
      for (const size_t again : parts_[parts].again) run_forward(operations_[again], "recompute", queue);
      stage_.part = kNoPart;
    }
    const Operation& operation = operations_[i];
    if (operation.backward) run_backward(operation, queue);
    const bool completes = i + 1 == operations_.size() || open_ends_[i] != open_ends_[i + 1];
    if (progress && completes) progress(open_ends_[i]);
  }
}

namespace {

std::string full_name(const Tape::Operation& operation) {
  return operation.detail.empty() ? operation.name : operation.name + (" " + operation.detail);
}

}  // namespace

void Tape::run_forward(const Operation& operation, const char* pass, kernels::Queue& queue) {
  const cuda::Range range(operation.name);
  const auto describe = [&] {
    return StepPart{.name = full_name(operation),
                    .pass = pass,
                    .flops = operation.flops.forward + (operation.backward ? 0.0 : operation.flops.backward),
                    .bytes = touched_bytes(operation.forward_slots)};
  };
  observed(observer_, describe, [&] { run(operation, operation.forward_slots, operation.forward, queue); });
}

void Tape::run_backward(const Operation& operation, kernels::Queue& queue) {
  const cuda::Range range(operation.name);
  const auto describe = [&] {
    return StepPart{.name = full_name(operation),
                    .pass = "backward",
                    .flops = operation.flops.backward,
                    .bytes = touched_bytes(operation.backward_slots)};
  };
  observed(observer_, describe, [&] { run(operation, operation.backward_slots, operation.backward, queue); });
}

void Tape::run(const Operation& operation, const std::vector<Slot>& declared, const Action& action,
               kernels::Queue& queue) {
  struct Running {
    Tape& tape;
    ~Running() { tape.running_ = nullptr, tape.declared_ = nullptr; }
  } const running{*this};
  running_ = &operation;
  declared_ = &declared;
  action(queue);
}

void Tape::check_declared(Slot slot) const {
  if (running_ == nullptr) return;
  const int owner = owner_of(slot).index;
  const bool declared = std::any_of(declared_->begin(), declared_->end(),
                                    [&](Slot other) { return other.exists() && owner_of(other).index == owner; });
  if (declared) return;
  const char* pass = declared_ == &running_->forward_slots ? "forward" : "backward";
  throw ContractError("{} {}: touches a {} {} that it has not declared", full_name(*running_), pass,
                      name_of(state(slot).dtype), shape(slot).text());
}

double Tape::touched_bytes(const std::vector<Slot>& slots) const {
  int64_t bytes = 0;
  for (const Slot slot : slots) {
    if (slot.exists()) bytes += shape(slot).elements() * bytes_of(state(slot).dtype);
  }
  return static_cast<double>(bytes);
}

Flops Tape::flops() const {
  Flops sum;
  for (const Operation& operation : operations_) {
    sum.forward += operation.flops.forward;
    sum.backward += operation.flops.backward;
  }
  return sum;
}

std::vector<TapeProduct> Tape::products() const {
  std::vector<TapeProduct> all;
  for (const Operation& operation : operations_) {
    const auto add = [&](const char* pass, const std::vector<RecordedProduct>& products) {
      for (const RecordedProduct& product : products) {
        all.push_back({.operation = operation.name, .pass = pass, .shape = product.shape});
        if (product.use.exists()) all.back().shape.accumulate = accumulates(product.use);
      }
    };
    add("forward", operation.forward_products);
    add("backward", operation.backward_products);
  }
  return all;
}

ConstTensorView Tape::read(Slot slot) const {
  if (!slot.exists()) return {};
  return state(slot).external ? state(slot).external_view : place(slot);
}

TensorView Tape::write(Slot slot) const {
  if (!slot.exists()) return {};
  const SlotState& target = state(slot);
  if (target.external) throw ContractError("a bound tensor is read only");
  if (target.gradient_uses > 0) throw ContractError("a gradient is written through a use of it");
  return place(slot);
}

TensorView Tape::write(const GradientUse& use) const { return use.exists() ? place(use.slot) : TensorView(); }

TensorView Tape::place(Slot slot) const {
  check_declared(slot);
  const SlotState& target = state(slot);
  const SlotState& block = state(owner_of(slot));
  const Life& life = is_second_life(block, stage_) ? block.again : block.life;
  return {arena_.data() + life.offset, target.dtype, target.shape};
}

// The last consumer recorded is the first to run backward.
bool Tape::accumulates(const GradientUse& use) const {
  return use.exists() && use.order + 1 < state(use.slot).gradient_uses;
}

kernels::Dropout Tape::dropout(const DropoutSite& site, int64_t elements_per_stream) const {
  const int64_t first =
      first_dropout_element(site.segment) + (site.per_stream ? info_.first_stream * elements_per_stream : int64_t{0});
  return {.p = training() ? static_cast<float>(site.p) : 0.0F,
          .random = {.seed = info_.seed, .step = step_ == nullptr ? info_.step : 0, .site = site.site},
          .first_element = static_cast<uint64_t>(first),
          .step = step_};
}

}  // namespace segue
