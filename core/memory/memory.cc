#include "core/memory/memory.h"

#include "core/config/carried.h"
#include "core/config/layers.h"
#include "core/memory/compressed_cache.h"
#include "core/memory/compressed_memory.h"
#include "core/memory/encoder_memory.h"
#include "core/memory/kv_cache.h"
#include "core/memory/layer_states.h"
#include "core/memory/segment_memory.h"
#include "core/memory/token_memory.h"

namespace segue {

std::unique_ptr<TrainingMemory> make_training_memory(const ModelConfig& model, const ModelUse& use, int64_t streams,
                                                     const Compute& compute) {
  switch (model.memory.kind) {
    case MemoryKind::kHiddenStates:
    case MemoryKind::kKeysValues:
      if (state_layers(model) > 0) return std::make_unique<StateMemory>(model, use, streams, compute);
      return std::make_unique<SegmentMemory>(memory_shape(model, use, streams), compute);
    case MemoryKind::kTokens:
      return std::make_unique<TokenMemory>(model, use, streams, compute);
    case MemoryKind::kAssociative:
    case MemoryKind::kInfini:
      return std::make_unique<StateMemory>(model, use, streams, compute);
    case MemoryKind::kCompressed:
      return std::make_unique<CompressedMemory>(model, use, streams, compute);
    case MemoryKind::kEncoder:
      return std::make_unique<EncoderMemory>(use.mem_len, streams, compute.device);
  }
  throw ContractError("unknown kind of memory");
}

std::unique_ptr<FrozenMemory> make_frozen_memory(const ModelInUse& in_use, int64_t streams, int64_t tgt_len) {
  if (in_use.use.global_tokens > 0) throw ContractError("a KV cache has no place for a global stream");
  switch (in_use.model.config().memory.kind) {
    case MemoryKind::kHiddenStates:
    case MemoryKind::kTokens:
    case MemoryKind::kAssociative:
    case MemoryKind::kInfini:
    case MemoryKind::kKeysValues:
      return std::make_unique<KvCache>(in_use, streams, tgt_len);
    case MemoryKind::kCompressed:
      return std::make_unique<CompressedCache>(in_use, streams, tgt_len);
    case MemoryKind::kEncoder:
      return std::make_unique<EncoderCache>(in_use, streams, tgt_len);
  }
  throw ContractError("unknown kind of memory");
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
