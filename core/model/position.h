// The position axis: how queries and keys learn where they stand, and the attention that goes with it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/operations.h"

namespace segue {

// One implementation per `model.position.kind`.
class Position {
 public:
  virtual ~Position() = default;

  // Appends the parameters that belong to the whole model and to layer `layer`.
  virtual void declare_shared(std::vector<ParameterSpec>& specs) const = 0;
  virtual void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const = 0;

  // Whether tokens carry their place in the segment through all layers; otherwise attention alone knows of distances.
  virtual bool is_absolute() const = 0;

  // Records what the first layer reads, of an absolute kind: dropout(embedded + what stands for each token's place).
  // `places` [B, T] int32 count from the first token of the segment.
  virtual Value enter(Tape& tape, Parameters& parameters, const Value& embedded, Slot places) const = 0;

  // Records what all layers share for a segment whose queries see up to `keys` keys (position tables and their
  // dropout).
  virtual Value encode(Tape& tape, int64_t keys) const = 0;

  // Records what keys are met with in layer `layer`: row d for distance d, [P, N*H]. P below `keys` clamps distances.
  virtual Value distances(Tape& tape, Parameters& parameters, int64_t layer, const Value& encoding) const = 0;

  // Records attention of layer `layer`: heads concatenated, [B, T, N*H].
  virtual Value attend(Tape& tape, Parameters& parameters, int64_t layer, const Value& distances, const Value& qkv,
                       const Value& memory_kv) const = 0;
};

std::unique_ptr<Position> make_position(const ModelConfig& model);

}  // namespace segue
