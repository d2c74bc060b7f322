// What the oracle asks of a model's kind of memory.
#pragma once

#include <cstdint>

#include "core/config/memory_kind.h"
#include "core/config/model_config.h"

namespace segue {

inline bool is_of(const ModelConfig& model, MemoryKind kind) { return model.memory.kind == kind; }

// Memory tokens that a segment writes after its own tokens, and that it reads before them.
inline int64_t memory_tokens(const ModelConfig& model) {
  return is_of(model, MemoryKind::kTokens) || is_of(model, MemoryKind::kAssociative) ? model.memory.tokens : 0;
}
inline int64_t read_tokens(const ModelConfig& model) {
  return is_of(model, MemoryKind::kTokens) ? model.memory.tokens : 0;
}
inline bool writes_own_tokens(const ModelConfig& model) {
  return is_of(model, MemoryKind::kAssociative) || model.memory.written == WrittenTokens::kOwn;
}
inline bool associates(const ModelConfig& model) { return is_of(model, MemoryKind::kAssociative); }
inline bool has_infini_memory(const ModelConfig& model) { return is_of(model, MemoryKind::kInfini); }
inline bool is_recurrent(const ModelConfig& model) { return is_of(model, MemoryKind::kBlockRecurrent); }
inline int64_t encoder_layers(const ModelConfig& model) {
  return is_of(model, MemoryKind::kEncoder) ? model.memory.encoder_layers : 0;
}
inline bool keeps_most_used(const ModelConfig& model) {
  return is_of(model, MemoryKind::kCompressed) && model.memory.compression == CompressionKind::kMostUsed;
}

// What a compression learns from: never kAuto.
inline ReconstructionKind reconstruction_of(const ModelConfig& model) {
  const MemoryConfig& memory = model.memory;
  if (memory.reconstruction != ReconstructionKind::kAuto) return memory.reconstruction;
  const bool is_learned =
      memory.compression == CompressionKind::kConvolution || memory.compression == CompressionKind::kDilatedConvolution;
  return is_learned ? ReconstructionKind::kAttention : ReconstructionKind::kNone;
}
inline bool learns_compression(const ModelConfig& model) {
  return is_of(model, MemoryKind::kCompressed) && reconstruction_of(model) != ReconstructionKind::kNone;
}

}  // namespace segue
