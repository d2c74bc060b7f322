// The attention of a layer that keeps a state: its tokens write into one matrix for each head and read from it.
#pragma once

#include <string>
#include <vector>

#include "core/attention/attention.h"
#include "core/config/model_config.h"
#include "core/tape/state_operations.h"

namespace segue {

class StateAttention {
 public:
  StateAttention(const ModelConfig& model, const LayerName& layer);

  void declare(std::vector<ParameterSpec>& specs) const;

  // Records what x [B, T, D] reads, from the state before it [B, N, H, H] float32, and the state after it; the latter
  // has a gradient where a later segment of the step reads it.
  struct Recorded {
    Value output;  // [B, T, D]
    Value state;   // [B, N, H, H] float32
  };
  Recorded record(Tape& tape, Parameters& parameters, const Value& x, const Value& state, bool is_read_on) const;

 private:
  Value feature_of(Tape& tape, const Value& x) const;
  Value log_decay(Tape& tape, Parameters& parameters, const Value& x) const;
  Value strength(Tape& tape, Parameters& parameters, const Value& x) const;

  ScoreConfig score_;
  Shape heads_;  // N, H
  int64_t d_model_;
  float norm_epsilon_;
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
