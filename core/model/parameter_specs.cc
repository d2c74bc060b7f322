#include "core/model/parameter_specs.h"

#include "core/head/vocabulary_clusters.h"
#include "core/model/layer.h"
#include "core/model/memory_encoder.h"

namespace segue {

namespace {

// Learned tokens, the same of every stream.
void declare_tokens(const ModelConfig& model, std::vector<ParameterSpec>& specs) {
  const Shape memory{memory_tokens(model), model.d_model};
  if (read_tokens(model) > 0) specs.push_back({kInitialTokens, memory});
  if (memory[0] > 0 && writes_own_tokens(model)) specs.push_back({kWrittenTokens, memory});
  const int64_t global_tokens = model.global_stream.tokens;
  if (global_tokens > 0) specs.push_back({kGlobalTokens, {global_tokens, model.d_model}});
}

}  // namespace

int64_t tokens_of_tables(const ModelConfig& model, int64_t vocabulary) {
  return vocabulary + (model.objective.is_masked() ? 1 : 0);
}

std::vector<ParameterSpec> parameter_specs(const ModelConfig& model, int64_t vocabulary) {
  const int64_t tokens = tokens_of_tables(model, vocabulary);
  const LayerPositions positions(model);
  std::vector<ParameterSpec> specs;
  positions.declare_shared(specs);
  declare_embedding(model, tokens, specs);
  declare_tokens(model, specs);
  if (const std::optional<MemoryEncoder> encoder = memory_encoder_of(model)) encoder->declare(specs);
  for (const Layer& layer : make_layers(model, positions)) layer.declare(specs);
  if (model.block.final_norm) declare_layer_norm(kFinalNorm, model.d_model, specs);
  declare_output(model, tokens, specs);
  return specs;
}

}  // namespace segue
