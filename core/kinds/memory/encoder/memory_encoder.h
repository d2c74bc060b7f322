// The encoder of a memory of tokens: layers that each read them in both directions (Vaswani et al. 2017, "Attention Is
// All You Need", 3.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/attention/layer_positions.h"
#include "core/kinds/block/block.h"

namespace segue {

class MemoryEncoder {
 public:
  // As the model says that its own layers are.
  explicit MemoryEncoder(const ModelConfig& model);

  void declare(std::vector<ParameterSpec>& specs) const;

  // Records what becomes of tokens that are embedded, [B, M, D] and no smaller after it, in such a use. `ahead` [B, M]
  // int32 says how many tokens each has after it.
  Value encode(Tape& tape, Parameters& parameters, const Value& embedded, Slot ahead, const ModelUse& use) const;

 private:
  ModelConfig layers_alike_;  // a model of the encoder's layers alone
  LayerPositions positions_;
  std::vector<std::unique_ptr<Block>> layers_;
};

}  // namespace segue
