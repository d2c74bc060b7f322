#include "core/kinds/memory/block_recurrent/recurrent_memory.h"

#include "core/kinds/memory/block_recurrent/cell_operations.h"
#include "core/kinds/memory/block_recurrent/recurrent_slots.h"
#include "core/tape/operations.h"

namespace segue {

namespace {

// The part of tokens: a second query, by which they attend to the keys and values of states, and a projection of what
// they get, which is added to that of their attention.
class StateReading final : public AttentionMemory {
 public:
  StateReading(const ModelConfig& model, const LayerName& layer)
      : d_model_(model.d_model), heads_{model.n_head, model.d_head}, prefix_(layer.prefix + "attention.states.") {}

  void declare(std::vector<ParameterSpec>& specs) const override {
    specs.push_back({prefix_ + "q", {heads_.elements(), d_model_}});
    specs.push_back({prefix_ + "output", {d_model_, heads_.elements()}});
  }

  // Of the states' keys and values.
  Read read(Tape& tape, Parameters& parameters, const Segment& segment,
            const std::vector<Value>& carried) const override {
    const int64_t width = heads_.elements();
    const Value q = linear(tape, segment.x, parameters[prefix_ + "q"]);
    const Value written = segment.is_read_on ? segment.qkv : without_gradient(segment.qkv);
    return {.output = attend_to_all(tape, heads_, schedules_, q, carried.front()),
            .keys = columns_of(tape, written, width, 2 * width),
            .values = {}};
  }

  Value mixed(Tape& tape, Parameters& parameters, const Read& read, const Value& attended,
              const Parameter& projection) const override {
    return linear_sum(tape, {{attended, projection}, {read.output, parameters[prefix_ + "output"]}});
  }

  // The states themselves change behind the layer.
  std::vector<Value> write(Tape& /*tape*/, const Read& segment, const std::vector<Value>& /*carried*/) const override {
    return {segment.keys};
  }

 private:
  int64_t d_model_;
  Shape heads_;         // N, H
  std::string prefix_;  // of its parameters' names
  std::shared_ptr<Schedules> schedules_ = std::make_shared<Schedules>();
};

// Before the layer what it carries gives way to keys and values of states, and behind it comes back.
class RecurrentStations final : public MemoryStations {
 public:
  RecurrentStations(StepRecording& step, const RecurrentCell& cell) : MemoryStations(step), cell_(cell) {}

  void before_layer(int64_t layer, Residual& /*residual*/) override {
    if (layer != cell_.layer()) return;
    states_ = cell_.begin(tape(), step_.parameters, carried().front());
    carried() = {copied_rows(tape(), {states_.kv, 0, tape().shape(states_.kv.data)[1]})};
  }

  void after_layer(const SegmentOfStep& segment, int64_t layer, const Block& /*block*/,
                   LayerOutputs& /*outputs*/) override {
    if (layer != cell_.layer()) return;
    carried() = {cell_.end(tape(), step_.parameters, states_, carried().front(), !segment.is_last)};
  }

 private:
  std::vector<Value>& carried() const { return step_.memories[static_cast<size_t>(cell_.layer())].states; }

  const RecurrentCell& cell_;
  RecurrentCell::States states_;
};

// With frozen weights states change between segments.
class FrozenRecurrentStations final : public MemoryStations {
 public:
  FrozenRecurrentStations(StepRecording& step, const RecurrentCell& cell, int64_t states, int64_t width)
      : MemoryStations(step),
        cell_(cell),
        kv_{step.shape.streams, states, 2 * width},
        slots_(make_slots<RecurrentSlots>(step.segment)) {}

  void before_layer(int64_t layer, Residual& /*residual*/) override {
    if (layer != cell_.layer()) return;
    slots_.carried = carried().front().data;
    slots_.state_kv = tape().bound(kv_, tape().activations());
    carried() = {{.data = slots_.state_kv, .gradient = {}}};
  }

  void after_layer(const SegmentOfStep& /*segment*/, int64_t layer, const Block& /*block*/,
                   LayerOutputs& /*outputs*/) override {
    if (layer != cell_.layer()) return;
    slots_.token_kv = carried().front().data;
    tape().keep(slots_.token_kv);
    carried() = {{.data = slots_.carried, .gradient = {}}};
  }

 private:
  std::vector<Value>& carried() const { return step_.memories[static_cast<size_t>(cell_.layer())].states; }

  const RecurrentCell& cell_;
  Shape kv_;  // B, K, 2*N*H
  RecurrentSlots& slots_;
};

}  // namespace

void RecurrentMemory::declare_before_block(int64_t layer, std::vector<ParameterSpec>& specs) const {
  if (layer == cell_.layer()) cell_.declare(specs);
}

std::unique_ptr<AttentionMemory> RecurrentMemory::in_attention(const LayerName& layer) const {
  if (layer.number != cell_.layer()) return nullptr;
  return std::make_unique<StateReading>(model_, layer);
}

std::unique_ptr<MemoryStations> RecurrentMemory::stations(StepRecording& step) const {
  if (step.shape.remembered != Remembered::kKvCache) return std::make_unique<RecurrentStations>(step, cell_);
  return std::make_unique<FrozenRecurrentStations>(step, cell_, model_.memory.states, model_.n_head * model_.d_head);
}

std::unique_ptr<RecurrentTape> RecurrentMemory::record(Arena& arena, Parameters& parameters, int64_t streams,
                                                       int64_t tgt_len) const {
  auto made = std::make_unique<RecurrentTape>(arena, parameters.compute().activations);
  Tape& tape = made->tape;
  made->before = tape.bound({streams, model_.memory.states, model_.d_model}, DType::kFloat32);
  RecurrentCell::States states = cell_.begin(tape, parameters, {.data = made->before, .gradient = {}});
  if (tgt_len > 0) {
    made->token_kv = tape.bound({streams, tgt_len, 2 * model_.n_head * model_.d_head}, tape.activations());
    const Value after =
        cell_.end(tape, parameters, states, {.data = made->token_kv, .gradient = {}}, /*is_read_on=*/false);
    made->after = after.data;
    tape.keep(after.data);
    states = cell_.begin(tape, parameters, after);
  }
  made->kv = states.kv.data;
  tape.keep(states.kv.data);
  tape.seal();
  return made;
}

extern const ModelMemoryRow kBlockRecurrentInModel;
constexpr ModelMemoryRow kBlockRecurrentInModel{.make = [](const ModelConfig& model) -> std::unique_ptr<ModelMemory> {
  return std::make_unique<RecurrentMemory>(model);
}};

}  // namespace segue
