// The attention of one layer: queries of the segment, keys and values of memory and segment, and what the layer's
// position says of the distances between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/attention/adaptive_span.h"
#include "core/attention/position.h"
#include "core/attention/schedules.h"

namespace segue {

// A layer's view of earlier segments: hidden states, or with frozen weights what was computed from them once.
struct LayerMemory {
  Value hidden;     // [B, M, D]: this layer's own inputs of earlier tokens, without gradient
  Value kv;         // [B, M, 2*N*H]: or what Attention::keys_and_values made of them
  Value distances;  // [P, N*H]: and what Position::distances made of the encoding
  bool is_frozen() const { return kv.data.exists(); }
};

// How far each query sees in its text.
struct QueryLimits {
  Slot reach;  // [B, T] int32: the farthest distance; or missing: no limit
  Slot ahead;  // [B, T] int32: how many keys after its own; or missing: none
};

class Attention {
 public:
  // For layer `layer` of the model; `position` outlives it. `schedules` are those of all layers.
  Attention(const ModelConfig& model, const Position& position, std::shared_ptr<Schedules> schedules, int64_t layer);

  void declare(std::vector<ParameterSpec>& specs) const;

  struct Recorded {
    Value output;  // [B, T, D]
    Value qkv;     // [B, T, 3*N*H]: of the segment, keys and values last
  };
  // Records attention from x [B, T, D] to itself and the memory, used like this. `encoding` is that of the positions,
  // `segment` the number of x among the segments of a step.
  Recorded record(Tape& tape, Parameters& parameters, const Value& x, const LayerMemory& memory, const Value& encoding,
                  const QueryLimits& limits, const ModelUse& use, int64_t segment) const;

  // Records the keys and values of a memory: [B, M, D] -> [B, M, 2*N*H].
  Value keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const;

 private:
  Shape heads_;  // N, H
  int64_t d_model_;
  double dropatt_;
  const Position& position_;
  std::optional<AdaptiveSpan> span_;  // of the adaptive kind
  std::shared_ptr<Schedules> schedules_;
  int64_t layer_;
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
