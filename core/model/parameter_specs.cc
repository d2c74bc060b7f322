#include "core/model/parameter_specs.h"

#include <algorithm>
#include <utility>

#include "core/config/layers.h"
#include "core/head/vocabulary_clusters.h"
#include "core/kinds/depth/depth.h"
#include "core/model/layers.h"

namespace segue {

int64_t tokens_of_tables(const ModelConfig& model, int64_t vocabulary) {
  return vocabulary + (model.objective.is_masked() ? 1 : 0);
}

std::vector<ParameterSpec> parameter_specs(const ModelConfig& model, int64_t vocabulary) {
  const int64_t tokens = tokens_of_tables(model, vocabulary);
  const LayerPositions positions(model);
  std::vector<ParameterSpec> specs;
  positions.declare_shared(specs);
  declare_embedding(model, tokens, specs);
  const std::unique_ptr<ModelMemory> memory = make_model_memory(model);
  memory->declare(specs);
  const int64_t global_tokens = model.global_stream.tokens;
  if (global_tokens > 0) specs.push_back({kGlobalTokens, {global_tokens, model.d_model}});
  Depth(model).declare(specs);
  const std::vector<std::unique_ptr<Block>> layers = make_layers(model, positions, *memory);
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    std::vector<ParameterSpec> declared;
    memory->declare_before_block(layer, declared);
    layers[static_cast<size_t>(layer)]->declare(declared);
    memory->declare_after_block(layer, declared);
    for (ParameterSpec& spec : declared) {
      const auto is_the_same = [&](const ParameterSpec& known) {
        return known.name == spec.name && known.shape == spec.shape;
      };
      const bool may_be_known = weights_of_layer(model, layer) != layer;  // of layers that share their weights
      if (!may_be_known || std::ranges::none_of(specs, is_the_same)) specs.push_back(std::move(spec));
    }
  }
  if (model.block.final_norm) declare_layer_norm(kFinalNorm, model.d_model, specs);
  declare_output(model, tokens, specs);
  return specs;
}

}  // namespace segue
