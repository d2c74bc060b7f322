#include "core/memory/memory.h"

#include "core/config/carried.h"
#include "core/config/layers.h"
#include "core/config/memory_kind.h"
#include "core/memory/kept_memory.h"
#include "core/memory/kv_cache.h"
#include "core/memory/layer_states.h"
#include "core/memory/segment_memory.h"

namespace segue {

#define SEGUE_MEMORY_KIND(Name, word, meaning) extern const KeptMemoryRow k##Name##Kept;
#include "core/config/memory_kinds.inc"

namespace {

MemoryKindRows<KeptMemoryRow>& rows_of_kept() {
  static MemoryKindRows<KeptMemoryRow> rows{
#define SEGUE_MEMORY_KIND(Name, word, meaning) &k##Name##Kept,
#include "core/config/memory_kinds.inc"
  };
  return rows;
}

}  // namespace

const KeptMemoryRow& kept(MemoryKind kind) { return rows_of_kept().of(kind); }

void add_row(MemoryKind kind, const KeptMemoryRow& row) { rows_of_kept().add(kind, row); }

std::unique_ptr<TrainingMemory> make_rows_and_states(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                                     const Compute& compute) {
  if (hands_on_states(model)) return std::make_unique<StateMemory>(model, use, streams, compute);
  return std::make_unique<SegmentMemory>(memory_shape(model, use, streams), compute);
}

std::unique_ptr<FrozenMemory> make_kv_cache(const ModelInUse& in_use, int64_t streams, int64_t tgt_len) {
  return std::make_unique<KvCache>(in_use, streams, tgt_len);
}

std::unique_ptr<TrainingMemory> make_training_memory(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                                     const Compute& compute) {
  return kept(model.memory.kind).make_training(model, use, streams, compute);
}

std::unique_ptr<FrozenMemory> make_frozen_memory(const ModelInUse& in_use, int64_t streams, int64_t tgt_len) {
  if (in_use.use.global_tokens > 0) throw ContractError("a KV cache has no place for a global stream");
  return kept(in_use.model.config().memory.kind).make_frozen(in_use, streams, tgt_len);
}

bool keeps_kv_cache(EvaluationMemory asked, const ModelUse& use) {
  return asked == EvaluationMemory::kKvCache && use.mem_len > 0 && use.global_tokens == 0;
}

std::string name_of_memory(const ModelConfig& model, bool is_kv_cache) {
  if (state_layers(model) == model.n_layer) return "states";
  return std::string(is_kv_cache ? "KV cache" : "segment memory") + (hands_on_states(model) ? " and states" : "");
}

std::unique_ptr<Memory> make_evaluation_memory(EvaluationMemory asked, const ModelInUse& in_use, int64_t streams,
                                               int64_t tgt_len) {
  if (keeps_kv_cache(asked, in_use.use)) return make_frozen_memory(in_use, streams, tgt_len);
  return make_training_memory(in_use.model.config(), in_use.use, streams, in_use.parameters.compute());
}

}  // namespace segue
