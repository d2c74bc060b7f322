#include "core/kinds/memory/model_memory.h"

#include "core/config/memory_kind.h"

namespace segue {

#define SEGUE_MEMORY_KIND(Name, word, meaning) extern const ModelMemoryRow k##Name##InModel;
#include "core/config/memory_kinds.inc"

namespace {

MemoryKindRows<ModelMemoryRow>& rows_in_models() {
  static MemoryKindRows<ModelMemoryRow> rows{
#define SEGUE_MEMORY_KIND(Name, word, meaning) &k##Name##InModel,
#include "core/config/memory_kinds.inc"
  };
  return rows;
}

const ModelMemoryRow& in_model(MemoryKind kind) { return rows_in_models().of(kind); }

}  // namespace

void add_row(MemoryKind kind, const ModelMemoryRow& row) { rows_in_models().add(kind, row); }

Value MemoryStations::remembered_rows(const Shape& shape) {
  const Slot rows = tape().bound(shape, tape().activations());
  step_.segment.memories.push_back(rows);
  return {.data = rows, .gradient = {}};
}

std::unique_ptr<MemoryStations> ModelMemory::stations(StepRecording& step) const {
  return std::make_unique<MemoryStations>(step);
}

std::unique_ptr<ModelMemory> make_model_memory(const ModelConfig& model) {
  return in_model(model.memory.kind).make(model);
}

Remembered remembered_in_training(const ModelConfig& model) { return in_model(model.memory.kind).in_training; }

int64_t remembered_width(const ModelConfig& model, Remembered form) {
  return form == Remembered::kHiddenStates ? model.d_model : 2 * model.n_head * model.d_head;
}

}  // namespace segue
