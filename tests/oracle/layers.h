// The config of each layer of a model, with the layer's own axis objects in place of the model's.
#pragma once

#include <algorithm>
#include <vector>

#include "core/config/model_config.h"

namespace segue::oracle {

// Layer by layer the config of a model all of whose layers are like it, as far as attention goes.
inline std::vector<ModelConfig> layers_of(const ModelConfig& model) {
  ModelConfig usual = model;
  usual.layers.clear();
  std::vector<ModelConfig> layers(model.n_layer, usual);
  for (const LayerOverride& own : model.layers) {
    for (const int64_t layer : own.only) {
      if (own.position) layers[layer].position = *own.position;
      if (own.visibility) layers[layer].visibility = *own.visibility;
      if (own.score) layers[layer].score = *own.score;
    }
  }
  return layers;
}

}  // namespace segue::oracle
