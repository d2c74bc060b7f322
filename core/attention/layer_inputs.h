// What a layer gets beside the residual: its memory, and how far its queries see.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/attention/relative_attention.h"
#include "core/config/model_config.h"
#include "core/tape/tape.h"

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
LayerName layer_name(const ModelConfig& model, int64_t number);  // of a layer of the model: "layers.L."

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

}  // namespace segue
