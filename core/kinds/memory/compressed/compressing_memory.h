// A memory that compresses rows that leave it, as part of a model: every layer has a compressor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/kinds/memory/compressed/compressor.h"
#include "core/kinds/memory/model_memory.h"

namespace segue {

// What becomes of the rows that a segment pushes out of a layer's memory, with frozen weights.
struct CompressedTape {
  CompressedTape(Arena& arena, DType activations) : tape(arena, Tape::Mode::kEvaluation, activations) {}
  Tape tape;
  Slot hidden;      // [B, M, D], bound
  Slot received;    // [B, N, R] float32, bound: what the rows that are pushed out received, where that is asked
  Slot compressed;  // kept: as of CompressedSlots
};

class CompressingMemory final : public ModelMemory {
 public:
  explicit CompressingMemory(const ModelConfig& model);

  void declare_after_block(int64_t layer, std::vector<ParameterSpec>& specs) const override;
  std::unique_ptr<MemoryStations> stations(StepRecording& step) const override;

  // Records what becomes, after such a segment, of the rows that it pushes out of a layer's memory. Sealed.
  std::unique_ptr<CompressedTape> record(Arena& arena, Parameters& parameters, const SegmentShape& shape,
                                         int64_t layer) const;

 private:
  ModelConfig model_;
  std::vector<Compressor> layers_;
};

}  // namespace segue
