// What mixes the tokens of a layer: attention, or a state. A block wires it to the residual and its norms.
#pragma once

#include <memory>
#include <vector>

#include "core/attention/attention_memory.h"
#include "core/attention/layer_inputs.h"
#include "core/attention/position.h"
#include "core/attention/schedules.h"

namespace segue {

// One implementation per `model.score.kind`, one object per layer.
class Mixer {
 public:
  virtual ~Mixer() = default;
  virtual void declare(std::vector<ParameterSpec>& specs) const = 0;

  struct Mixed {
    Value output;      // [B, T, D]
    Value fresh = {};  // what it made of the segment, in the memory's form: keys and values [B, T, 2*N*H] as they were
                       // made, or of a KV cache behind queries [B, T, 3*N*H]; nothing of hidden states
    Value qkv = {};    // [B, T, 3*N*H]: queries, keys and values of the segment, turned by a position that turns them
    std::vector<Value> states = {};  // what it hands on: see carried_tensors
  };
  // Records what becomes of x [B, T, D]. A memory of hidden states comes as x does, from behind the same norm.
  virtual Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const = 0;

  // Of those with keys. Others throw ContractError.
  // Records the keys and values of a memory: [B, M, D] -> [B, M, 2*N*H].
  virtual Value keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const;
  // Whether a position turned Mixed::qkv.
  virtual bool turns() const;
  // Records the qkv of x as it is without positions, with constant weights.
  virtual Value content_of(Tape& tape, Parameters& parameters, const Value& x) const;
  // Records what the queries of such qkv [B, T, 3*N*H], which has no gradient, get of each context [B, M, D], all of it
  // and that alone, by content without positions: [B, T, N*H], all heads, not projected back. Weights are constants.
  virtual std::vector<Value> mixed_by_content(Tape& tape, Parameters& parameters, const Value& qkv,
                                              const std::vector<Value>& contexts) const;
};

// For a layer of the model; `position` outlives it. `schedules` are those of all layers; `memory` is what the kind of
// memory adds to attention, if anything.
std::unique_ptr<Mixer> make_mixer(const ModelConfig& model, const Position& position,
                                  std::shared_ptr<Schedules> schedules, const LayerName& layer,
                                  std::unique_ptr<AttentionMemory> memory);

}  // namespace segue
