// The block axis: how attention and feed-forward are wired to the residual and its layer norms.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/config/block_kind.h"
#include "core/kinds/block/layer_parts.h"

namespace segue {

// The outputs of a layer: the residual, what becomes its memory, what a memory that compresses reads besides, and what
// the layer hands on.
struct LayerOutputs {
  Residual residual;
  Value fresh;                     // [B, T, D]: its own input; or what attention made of it, see Mixer::Mixed
  Value input;                     // [B, T, D]
  Value qkv;                       // [B, T, 3*N*H]: see Mixer::Mixed
  std::vector<Value> states = {};  // what it hands on: see carried_tensors
};

// One implementation per `model.block.kind`, one object per layer.
class Block {
 public:
  explicit Block(LayerParts parts);
  virtual ~Block() = default;

  // The parameters of its parts; a kind adds its own behind them.
  virtual void declare(std::vector<ParameterSpec>& specs) const;
  virtual LayerOutputs apply(Tape& tape, Parameters& parameters, const Residual& input,
                             const LayerInputs& inputs) const = 0;

  // Records the keys and values of a memory: [B, M, D] -> [B, M, 2*N*H].
  Value keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const;
  // Records what attention by content alone gets of each of several memories for a segment that the layer has read: see
  // Mixer::mixed_by_content.
  std::vector<Value> contents_of(Tape& tape, Parameters& parameters, const LayerOutputs& read,
                                 const std::vector<Value>& memories) const;

 protected:
  // Of a layer that read x [B, T, D] and ends in such a residual.
  LayerOutputs outputs(const Residual& residual, const Value& x, const Mixer::Mixed& mixed,
                       const LayerInputs& inputs) const;

  const LayerParts& parts() const { return parts_; }

 private:
  LayerParts parts_;
};

// The residual [B, T, D] with its branch, if it has one, added. Throws ContractError for two streams.
Value sum_of(Tape& tape, const Residual& residual);

// The output of the last layer, [B, T, D]: the sum of the residual and its last branch, or of two streams, behind the
// layer norm of that name where the block axis asks for one.
Value output_of_layers(Tape& tape, Parameters& parameters, const Residual& residual, const BlockConfig& block,
                       const std::string& norm);

// `schedules` are those of all layers; `memory` is what the kind of memory adds to the layer's attention, if anything.
std::unique_ptr<Block> make_block(const ModelConfig& model, const Position& position,
                                  std::shared_ptr<Schedules> schedules, const LayerName& layer,
                                  std::unique_ptr<AttentionMemory> memory = nullptr);

// What each kind's own file defines for core/config/block_kinds.inc.
#define SEGUE_BLOCK_KIND(Name, word, meaning) std::unique_ptr<Block> make_##word##_block(LayerParts parts);
#include "core/config/block_kinds.inc"

}  // namespace segue
