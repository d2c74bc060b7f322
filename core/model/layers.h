// The layers of a model: one block for each.
#pragma once

#include <memory>
#include <vector>

#include "core/attention/layer_positions.h"
#include "core/kinds/memory/model_memory.h"

namespace segue {

// `positions` outlive them.
std::vector<std::unique_ptr<Block>> make_layers(const ModelConfig& model, const LayerPositions& positions,
                                                const ModelMemory& memory);

}  // namespace segue
