// The attention of one layer: queries of the segment, keys and values of memory and segment, and what the layer's
// position says of the distances between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/attention/adaptive_span.h"
#include "core/attention/attention_memory.h"
#include "core/attention/position.h"
#include "core/attention/relative_attention.h"
#include "core/attention/schedules.h"

namespace segue {

// The form in which queries see earlier segments.
enum class Remembered : uint8_t {
  kHiddenStates,   // the layer's inputs, whose keys and values are made with today's weights
  kKeysAndValues,  // keys and values as they were made then, which stand where they stand today
  kKvCache,        // the same where they stand for good, and the rows of distances, made once while weights are frozen
};

// A layer's view of earlier segments.
struct LayerMemory {
  Remembered form = Remembered::kHiddenStates;
  Value rows;                      // [B, M, D] hidden states, or [B, M, 2*N*H] keys and values, without gradient
  Value distances;                 // [P, N*H]: with a KV cache, what Position::distances made of the encoding
  std::vector<Value> states = {};  // see carried_tensors
  std::vector<Value> begun = {};   // after the part of this segment read so far; empty at a segment's start
  std::vector<ReceivedAttention> received = {};  // wanted of those rows
};

// A layer's number, and the beginning of its parameters' names.
struct LayerName {
  int64_t number = 0;
  std::string prefix;
};
LayerName layer_name(int64_t number);  // of a layer of the model: "layers.L."

// How far each query sees in its text.
struct QueryLimits {
  Slot reach;  // [B, T] int32: the farthest distance; or missing: no limit
  Slot ahead;  // [B, T] int32: how many keys after its own; or missing: none. T counts all rows of a segment
};

// The inputs of a layer besides the residual.
struct LayerInputs {
  LayerMemory memory;
  Value encoding;  // of its position
  QueryLimits limits;
  ModelUse use;
  int64_t segment = 0;      // its number among those of a step
  bool is_read_on = false;  // whether a later segment of the step learns through what the layer hands on
};

class Attention {
 public:
  // For a layer of the model; `position` outlives it. `schedules` are those of all layers; `memory` is what the kind of
  // memory adds, if anything.
  Attention(const ModelConfig& model, const Position& position, std::shared_ptr<Schedules> schedules,
            const LayerName& layer, std::unique_ptr<AttentionMemory> memory);

  void declare(std::vector<ParameterSpec>& specs) const;

  struct Recorded {
    Value output;  // [B, T, D]
    Value fresh;  // what it made of the segment, in the memory's form: keys and values [B, T, 2*N*H] as they were made,
                  // or of a KV cache behind queries [B, T, 3*N*H]; nothing of hidden states
    Value qkv;    // [B, T, 3*N*H]: queries, keys and values of the segment, turned by a position that turns them
    std::vector<Value> states;  // what it hands on: see carried_tensors
  };
  // Records attention from x [B, T, D] to itself and the memory.
  Recorded record(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const;

  // Records the keys and values of a memory: [B, M, D] -> [B, M, 2*N*H].
  Value keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const;

  // Whether a position turned Recorded::qkv.
  bool turns() const { return position_.terms().turns; }
  // Records the qkv of x as it is without positions, with constant weights.
  Value record_content(Tape& tape, Parameters& parameters, const Value& x) const;
  // Records what the queries of such qkv [B, T, 3*N*H], which has no gradient, get of each context [B, M, D], all of it
  // and that alone, by content without positions: [B, T, N*H], all heads, not projected back. Weights are constants.
  std::vector<Value> record_of_content(Tape& tape, Parameters& parameters, const Value& qkv,
                                       const std::vector<Value>& contexts) const;

 private:
  Value projected(Tape& tape, Parameters& parameters, const Value& x) const;
  Value remembered(Tape& tape, Parameters& parameters, const LayerMemory& memory, const ModelUse& use) const;

  Shape heads_;  // N, H
  int64_t d_model_;
  double dropatt_;
  int64_t own_projections_;  // of so many first rows of a segment, the global stream's
  const Position& position_;
  std::optional<AdaptiveSpan> span_;  // of the adaptive kind
  std::unique_ptr<AttentionMemory> memory_;
  std::shared_ptr<Schedules> schedules_;
  int64_t layer_;
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
