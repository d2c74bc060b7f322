// State vectors of one layer as part of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/kinds/memory/block_recurrent/recurrent_cell.h"
#include "core/kinds/memory/model_memory.h"

namespace segue {

// What becomes of states between segments, with frozen weights.
struct RecurrentTape {
  RecurrentTape(Arena& arena, DType activations) : tape(arena, Tape::Mode::kEvaluation, activations) {}
  Tape tape;
  Slot before;    // [B, K, D] float32, bound
  Slot token_kv;  // [B, T, 2*N*H], bound: of the segment that they read; none where no segment comes between
  Slot after;     // [B, K, D] float32, kept; none likewise
  Slot kv;        // [B, K, 2*N*H], kept: keys and values of the states after it
};

class RecurrentMemory final : public ModelMemory {
 public:
  explicit RecurrentMemory(const ModelConfig& model) : model_(model), cell_(model) {}

  void declare_before_block(int64_t layer, std::vector<ParameterSpec>& specs) const override;
  std::unique_ptr<AttentionMemory> in_attention(const LayerName& layer) const override;
  std::unique_ptr<MemoryStations> stations(StepRecording& step) const override;

  // Records what becomes of states with a segment of `tgt_len` tokens, or, with 0, before the first one. Sealed.
  std::unique_ptr<RecurrentTape> record(Arena& arena, Parameters& parameters, int64_t streams, int64_t tgt_len) const;

 private:
  ModelConfig model_;
  RecurrentCell cell_;
};

}  // namespace segue
