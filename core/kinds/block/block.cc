#include "core/kinds/block/block.h"

#include <utility>

#include "core/config/layers.h"
#include "core/tape/element_gates.h"

namespace segue {

Block::Block(LayerParts parts) : parts_(std::move(parts)) {}

void Block::declare(std::vector<ParameterSpec>& specs) const { parts_.declare(specs); }

Value Block::keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const {
  return parts_.mixer().keys_and_values(tape, parameters, parts_.as_read(tape, parameters, hidden), use);
}

std::vector<Value> Block::contents_of(Tape& tape, Parameters& parameters, const LayerOutputs& read,
                                      const std::vector<Value>& memories) const {
  const Mixer& mixer = parts_.mixer();
  Value qkv = without_gradient(read.qkv);
  if (mixer.turns())
    qkv = mixer.content_of(tape, parameters, parts_.as_constants_read(tape, parameters, without_gradient(read.input)));
  std::vector<Value> contexts;
  for (const Value& memory : memories) contexts.push_back(parts_.as_constants_read(tape, parameters, memory));
  return mixer.mixed_by_content(tape, parameters, qkv, contexts);
}

LayerOutputs Block::outputs(const Residual& residual, const Value& x, const Mixer::Mixed& mixed,
                            const LayerInputs& inputs) const {
  LayerOutputs outputs{.residual = residual, .fresh = {}, .input = x, .qkv = mixed.qkv, .states = mixed.states};
  if (!keeps_state(parts_.model(), parts_.layer()))
    outputs.fresh = inputs.memory.form == Remembered::kHiddenStates ? x : mixed.fresh;
  return outputs;
}

Value sum_of(Tape& tape, const Residual& residual) {
  if (residual.beside.data.exists()) throw ContractError("two streams, where one residual is read");
  return residual.branch.data.exists() ? add(tape, residual) : residual.sum;
}

Value output_of_layers(Tape& tape, Parameters& parameters, const Residual& residual, const BlockConfig& block,
                       const std::string& norm) {
  Residual last = residual;
  if (residual.beside.data.exists())
    last = {.sum = to_activations(tape, residual.sum), .branch = to_activations(tape, residual.beside), .site = {}};
  if (block.final_norm) return normalise(tape, last, layer_norm(parameters, norm, block.layer_norm_epsilon));
  return sum_of(tape, last);
}

std::unique_ptr<Block> make_block(const ModelConfig& model, const Position& position,
                                  std::shared_ptr<Schedules> schedules, const LayerName& layer,
                                  std::unique_ptr<AttentionMemory> memory) {
  static constexpr std::unique_ptr<Block> (*kMakers[])(LayerParts parts) = {
#define SEGUE_BLOCK_KIND(Name, word, meaning) make_##word##_block,
#include "core/config/block_kinds.inc"
  };
  LayerParts parts(model, layer, make_mixer(model, position, std::move(schedules), layer, std::move(memory)));
  return kMakers[static_cast<size_t>(model.block.kind)](std::move(parts));
}

}  // namespace segue
