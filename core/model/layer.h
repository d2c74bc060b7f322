// A layer of the model: its block, and what the model's kind of memory has in every layer beside it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/attention/associations.h"
#include "core/attention/layer_positions.h"
#include "core/model/block.h"
#include "core/model/compressor.h"

namespace segue {

struct Layer {
  std::unique_ptr<Block> block;
  std::optional<Associations> associations;  // read before the block, written behind it
  std::optional<Compressor> compressor;      // of rows that leave its memory

  void declare(std::vector<ParameterSpec>& specs) const;
};

// All of a model, whose positions outlive them.
std::vector<Layer> make_layers(const ModelConfig& model, const LayerPositions& positions);

}  // namespace segue
