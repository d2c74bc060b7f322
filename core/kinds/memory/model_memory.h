// The memory axis: what a kind of memory has in the model, and what it does while segments are recorded. What it needs
// of a config stands in core/config/kind_requirements.cc, what its layers carry in core/config/carried.cc, and how it
// keeps both from segment to segment in core/memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/attention/attention_memory.h"
#include "core/kinds/block/block.h"
#include "core/kinds/step_recording.h"

namespace segue {

// What a kind does while the segments of one step are recorded, station by station. A kind overrides the stations where
// it takes part; the default is a memory of the newest inputs of every layer, or of their keys and values.
class MemoryStations {
 public:
  explicit MemoryStations(StepRecording& step) : step_(step) {}
  virtual ~MemoryStations() = default;

  // Before layers get their memory.
  virtual void open() {}
  // The rows that a layer that attends remembers of earlier steps, of such a shape: bound.
  virtual Value remembered_rows(const Shape& shape);
  // Asks what else it wants to know of these rows.
  virtual void ask_about(LayerMemory& /*memory*/) {}
  // Whether the newest rows of layers become memory.
  virtual bool remembers_rows() const { return true; }

  // What a segment reads before its tokens, and after them.
  virtual StreamRows rows_before(const SegmentOfStep& /*segment*/) { return {}; }
  virtual StreamRows rows_after(const SegmentOfStep& /*segment*/) { return {}; }

  // Of every layer: before it reads the residual, and after it.
  virtual void before_layer(int64_t /*layer*/, Residual& /*residual*/) {}
  virtual void after_layer(const SegmentOfStep& /*segment*/, int64_t /*layer*/, const Block& /*block*/,
                           LayerOutputs& /*outputs*/) {}

  // After a segment's layers: `output` [B, rows, D] is that of the last one.
  virtual void close(const SegmentOfStep& /*segment*/, const Value& /*output*/) {}

 protected:
  Tape& tape() const { return step_.tape(); }

  StepRecording& step_;
};

// A kind's part of a model: its parameters, and its stations. Its stations may not outlive it.
class ModelMemory {
 public:
  virtual ~ModelMemory() = default;

  // Appends the parameters of the whole model; and those of a layer that stand before its block's and after them.
  virtual void declare(std::vector<ParameterSpec>& /*specs*/) const {}
  virtual void declare_before_block(int64_t /*layer*/, std::vector<ParameterSpec>& /*specs*/) const {}
  virtual void declare_after_block(int64_t /*layer*/, std::vector<ParameterSpec>& /*specs*/) const {}

  // What it adds to a layer's attention, if anything.
  virtual std::unique_ptr<AttentionMemory> in_attention(const LayerName& /*layer*/) const { return nullptr; }

  virtual std::unique_ptr<MemoryStations> stations(StepRecording& step) const;
};

// Makes that of `model.memory.kind`.
std::unique_ptr<ModelMemory> make_model_memory(const ModelConfig& model);

// A model's memory as that of its kind. Throws ContractError where it is of another.
template <typename Kind>
const Kind& memory_as(const ModelMemory& memory) {
  const auto* found = dynamic_cast<const Kind*>(&memory);
  if (found == nullptr) throw ContractError("a memory of another kind");
  return *found;
}

// The form of what a model remembers in training, and the width of a row of it.
Remembered remembered_in_training(const ModelConfig& model);
int64_t remembered_width(const ModelConfig& model, Remembered form);

// What each kind's own file defines for core/config/memory_kinds.inc; the defaults are those of rows of layers.
struct ModelMemoryRow {
  std::unique_ptr<ModelMemory> (*make)(const ModelConfig& model) = [](const ModelConfig& /*model*/) {
    return std::make_unique<ModelMemory>();
  };
  Remembered in_training = Remembered::kHiddenStates;
};

// Of a kind that was added (core/config/memory_kind.h).
void add_row(MemoryKind kind, const ModelMemoryRow& row);

}  // namespace segue
