// What a layer keeps beside its attention (Munkhdalai et al. 2024, arXiv:2404.07143, Infini-attention): a matrix for
// each head, which sums keys and values of all segments before, and which queries read as they attend.
#pragma once

#include <string>
#include <vector>

#include "core/config/model_config.h"
#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

struct LayerName;

class InfiniMemory {
 public:
  InfiniMemory(const ModelConfig& model, const LayerName& layer);

  void declare(std::vector<ParameterSpec>& specs) const;

  // Records what the queries of a segment read of the state [B, N, H, H + 1] before it. `qkv` [B, T, 3*N*H] are its
  // queries, keys and values without positions; something recorded later overwrites their gradient.
  struct Read {
    Value output;        // [B, T, N*H]: an average of values; 0 before the second segment
    Value keys, values;  // [B, T, N*H]: the segment's; with gradients where a later one of the step learns through them
  };
  Read read(Tape& tape, const Value& qkv, const Value& state, bool is_read_on) const;

  // Records what heads have of both: what they attended to [B, T, N*H] and what they read. [B, T, N*H]
  Value mixed(Tape& tape, Parameters& parameters, const Read& read, const Value& attended) const;

  // Records what becomes of a state with the segment's keys and values. It has a gradient where these have.
  Value write(Tape& tape, const Read& segment, const Value& state) const;

 private:
  Value feature_of(Tape& tape, const Value& rows) const;

  Shape state_;         // N, H, H + 1
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
