// The block axis: how attention and feed-forward are wired to the residual stream and its layer norms.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/position.h"

namespace segue {

// What a layer reads besides the residual stream.
struct LayerInputs {
  int64_t layer = 0;
  Value memory;    // [B, M, D]: this layer's own inputs of earlier tokens, without gradient
  Value encoding;  // of positions, shared by all layers
};

// What a layer hands on: the residual stream, and its own input, which becomes its memory.
struct LayerOutputs {
  Residual residual;
  Value hidden;
};

// One implementation per `model.block.kind`.
class Block {
 public:
  virtual ~Block() = default;
  virtual void declare(int64_t layer, std::vector<ParameterSpec>& specs) const = 0;
  virtual LayerOutputs apply(Tape& tape, Parameters& parameters, const Residual& input,
                             const LayerInputs& inputs) const = 0;
};

std::unique_ptr<Block> make_block(const ModelConfig& model, const Position& position);

}  // namespace segue
