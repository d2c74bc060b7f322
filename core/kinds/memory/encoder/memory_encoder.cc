// The same layers as the model's, without a memory of their own.
#include "core/kinds/memory/encoder/memory_encoder.h"

#include <fmt/format.h>

#include <utility>

#include "core/attention/schedules.h"

namespace segue {

namespace {

constexpr const char* kEncoderNorm = "encoder.final_norm";

ModelConfig of_layers_alike(ModelConfig model) {
  model.n_layer = model.memory.encoder_layers;
  model.layers.clear();
  model.depth = {};
  return model;
}

}  // namespace

MemoryEncoder::MemoryEncoder(const ModelConfig& model)
    : layers_alike_(of_layers_alike(model)), positions_(layers_alike_) {
  const auto schedules = std::make_shared<Schedules>();
  for (int64_t layer = 0; layer < layers_alike_.n_layer; ++layer)
    layers_.push_back(make_block(layers_alike_, positions_.of_layer(layer), schedules,
                                 {model.n_layer + layer, fmt::format("encoder.layers.{}.", layer)}));
}

void MemoryEncoder::declare(std::vector<ParameterSpec>& specs) const {
  for (const std::unique_ptr<Block>& layer : layers_) layer->declare(specs);
  if (layers_alike_.block.final_norm) declare_layer_norm(kEncoderNorm, layers_alike_.d_model, specs);
}

Value MemoryEncoder::encode(Tape& tape, Parameters& parameters, const Value& embedded, Slot ahead,
                            const ModelUse& use) const {
  ModelUse in_both_directions = use;
  in_both_directions.mem_len = 0;
  in_both_directions.ahead = true;
  const Shape rows = tape.shape(embedded.data);
  const OwnedTensor nothing(DType::kFloat32, {rows[0], 0, rows[2]});
  LayerInputs inputs;
  inputs.limits.ahead = ahead;
  inputs.use = in_both_directions;
  inputs.memory.rows = {.data = tape.constant(nothing, tape.activations()), .gradient = {}};
  Residual residual{.sum = embedded, .branch = {}, .site = {}};
  for (const std::unique_ptr<Block>& layer : layers_) {
    const RecomputedPart part(tape, Recompute::kBlock);
    residual = layer->apply(tape, parameters, residual, inputs).residual;
  }
  return output_of_layers(tape, parameters, residual, layers_alike_.block, kEncoderNorm);
}

}  // namespace segue
