// What layers hand on from segment to segment beside rows of memory: the one place where a kind says so. Graphs,
// memories, checkpoints and resets follow from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "core/config/model_config.h"

namespace segue {

// When such a tensor changes.
enum class CarriedChange : uint8_t {
  kWithTokens,  // with every token that is read
  kAtEnds,      // where a segment ends
  kGathered,    // where a segment ends, by all of its tokens: what it will be is gathered until then
};

// Of float32, and zeros where a stream begins.
struct CarriedTensor {
  std::string name;  // "states.L" of layer L, or what its convolutions hand on: "tails.q.L", ".k.", ".v."; or as its
                     // kind of memory calls it
  Shape shape;       // of a stream: a state [N, K, V], the newest inputs [taps - 1, N*H], or as the kind has it
  CarriedChange change = CarriedChange::kWithTokens;
};

// Those of a layer that keeps a state, or whose model's kind of memory has such in every layer.
std::vector<CarriedTensor> carried_tensors(const ModelConfig& model, int64_t layer);
Shape of_streams(int64_t streams, const Shape& shape);  // [B, of one stream]

// Whether any layer hands on such tensors.
bool hands_on_states(const ModelConfig& model);

}  // namespace segue
