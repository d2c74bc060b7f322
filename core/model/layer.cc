#include "core/model/layer.h"

#include <fmt/format.h>

#include "core/attention/schedules.h"

namespace segue {

void Layer::declare(std::vector<ParameterSpec>& specs) const {
  if (associations) associations->declare(specs);
  block->declare(specs);
  if (compressor) compressor->declare(specs);
}

std::vector<Layer> make_layers(const ModelConfig& model, const LayerPositions& positions) {
  const auto schedules = std::make_shared<Schedules>();
  std::vector<Layer> layers;
  for (int64_t number = 0; number < model.n_layer; ++number) {
    const LayerName name{number, fmt::format("layers.{}.", number)};
    layers.push_back({.block = make_block(model, positions.of_layer(number), schedules, name),
                      .associations = associations_of(model, name),
                      .compressor = compressor_of(model, number)});
  }
  return layers;
}

}  // namespace segue
