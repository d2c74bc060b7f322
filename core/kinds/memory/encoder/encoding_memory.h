// A memory of tokens as part of a model: before every segment an encoder reads them again, and all layers see its
// outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/head/head.h"
#include "core/kinds/memory/encoder/memory_encoder.h"
#include "core/kinds/memory/model_memory.h"

namespace segue {

class EncodingMemory final : public ModelMemory {
 public:
  explicit EncodingMemory(const ModelConfig& model) : model_(model), encoder_(model) {}

  void declare(std::vector<ParameterSpec>& specs) const override { encoder_.declare(specs); }
  std::unique_ptr<MemoryStations> stations(StepRecording& step) const override;

  // Records what the encoder makes of tokens [B, M]: [B, M, D].
  Value record(Tape& tape, Parameters& parameters, const Head& head, Slot tokens, const ModelUse& use) const;

 private:
  ModelConfig model_;
  MemoryEncoder encoder_;
};

}  // namespace segue
