#include "core/model/layers.h"

#include "core/attention/schedules.h"

namespace segue {

std::vector<std::unique_ptr<Block>> make_layers(const ModelConfig& model, const LayerPositions& positions,
                                                const ModelMemory& memory) {
  const auto schedules = std::make_shared<Schedules>();
  std::vector<std::unique_ptr<Block>> layers;
  for (int64_t number = 0; number < model.n_layer; ++number) {
    const LayerName name = layer_name(model, number);
    layers.push_back(make_block(model, positions.of_layer(number), schedules, name, memory.in_attention(name)));
  }
  return layers;
}

}  // namespace segue
