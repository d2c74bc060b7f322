#include "core/kinds/memory/model_memory.h"

namespace segue {

ModelMemoryMaker make_token_memory;
ModelMemoryMaker make_associative_memory;
ModelMemoryMaker make_infini_memory;
ModelMemoryMaker make_compressing_memory;
ModelMemoryMaker make_encoding_memory;

namespace {

// Rows of layers alone.
std::unique_ptr<ModelMemory> make_row_memory(const ModelConfig& /*model*/) { return std::make_unique<ModelMemory>(); }

struct Row {
  ModelMemoryMaker* make;
  Remembered in_training = Remembered::kHiddenStates;
};

Row row_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kHiddenStates:
      return {.make = make_row_memory};
    case MemoryKind::kKeysValues:
      return {.make = make_row_memory, .in_training = Remembered::kKeysAndValues};
    case MemoryKind::kTokens:
      return {.make = make_token_memory};
    case MemoryKind::kAssociative:
      return {.make = make_associative_memory};
    case MemoryKind::kInfini:
      return {.make = make_infini_memory};
    case MemoryKind::kCompressed:
      return {.make = make_compressing_memory};
    case MemoryKind::kEncoder:
      return {.make = make_encoding_memory};
  }
  throw ContractError("unknown kind of memory");
}

}  // namespace

Value MemoryStations::remembered_rows(const Shape& shape) {
  const Slot rows = tape().bound(shape, tape().activations());
  step_.segment.memories.push_back(rows);
  return {.data = rows, .gradient = {}};
}

std::unique_ptr<MemoryStations> ModelMemory::stations(StepRecording& step) const {
  return std::make_unique<MemoryStations>(step);
}

std::unique_ptr<ModelMemory> make_model_memory(const ModelConfig& model) {
  return row_of(model.memory.kind).make(model);
}

Remembered remembered_in_training(const ModelConfig& model) { return row_of(model.memory.kind).in_training; }

int64_t remembered_width(const ModelConfig& model, Remembered form) {
  return form == Remembered::kHiddenStates ? model.d_model : 2 * model.n_head * model.d_head;
}

}  // namespace segue
