// The position axis: how queries and keys learn where they stand.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/config/position_terms.h"
#include "core/tape/operations.h"

namespace segue {

// One implementation per `model.position.kind`; what a kind does not need is left as it is here.
class Position {
 public:
  explicit Position(ModelConfig model) : model_(std::move(model)) {}
  virtual ~Position() = default;

  // Appends the parameters that belong to the whole model and to layer `layer`.
  virtual void declare_shared(std::vector<ParameterSpec>& specs) const;
  virtual void declare_layer(int64_t layer, std::vector<ParameterSpec>& specs) const;

  const PositionConfig& config() const { return model_.position; }
  PositionTerms terms() const { return offered_by(model_.position.kind); }

  // Records what layers share for a segment whose queries see up to `keys` keys (position tables and their
  // dropout). A distance beyond `clamp_len` counts as clamp_len; 0 or less: none does.
  virtual Value encode(Tape& tape, int64_t keys, int64_t clamp_len) const;

  // Records what the first layer reads, of an absolute kind: dropout(embedded + what stands for each token's position).
  // `positions` [B, T] int32 count from the first token of the segment, each below `keys`.
  virtual Value enter(Tape& tape, Parameters& parameters, const Value& embedded, const Value& encoding,
                      Slot positions) const;

  // Records queries and keys as attention meets them, of a kind that turns them by their position. `rows` are the
  // projections of a segment, [B, R, 3*N*H], or of the memory before it, [B, R, 2*N*H], keys before values, which
  // nothing recorded later reads; `first` is the position of the first row, counted from the segment's first token.
  virtual Value turn(Tape& tape, const Value& rows, int64_t first, const ModelUse& use) const;

  // Records what keys are met with in layer `layer`: row d for distance d, [P, N*H]. P below `keys` clamps distances.
  // None of a kind whose attention knows nothing of distances.
  virtual Value distances(Tape& tape, Parameters& parameters, int64_t layer, const Value& encoding) const;

  // Records the biases by distance of scores in layer `layer`: [N, keys] float32, column d for distance d.
  virtual Value distance_biases(Tape& tape, Parameters& parameters, int64_t layer, const Value& encoding,
                                int64_t keys) const;

  // Records the gains of scores in layer `layer`, of kinds that have them: [N, keys] float32, column d for distance d.
  virtual Value distance_gains(Tape& tape, Parameters& parameters, int64_t layer, int64_t keys) const;

  // The biases u and w that queries meet keys and distances with in layer `layer`, of kinds that have them.
  struct Biases {
    Parameter u, w;
  };
  virtual Biases biases(Parameters& parameters, int64_t layer) const;

 protected:
  ModelConfig model_;
};

std::unique_ptr<Position> make_position(const ModelConfig& model);

// Each kind's own file defines one function of this type.
using PositionMaker = std::unique_ptr<Position>(const ModelConfig& model);

}  // namespace segue
