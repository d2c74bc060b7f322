// The attention of a layer that keeps a state: its tokens write into one matrix for each head and read from it.
#pragma once

#include <string>
#include <vector>

#include "core/attention/mixer.h"
#include "core/config/model_config.h"
#include "core/tape/state_operations.h"

namespace segue {

class StateAttention final : public Mixer {
 public:
  StateAttention(const ModelConfig& model, const LayerName& layer);

  void declare(std::vector<ParameterSpec>& specs) const override;

  // What x [B, T, D] reads, from what the tokens before it handed on, and what it hands on itself, which has gradients
  // where a later segment of the step reads it. Positions are counted from x's first token, as those of what is handed
  // on are from the next one's; with a KV cache from where the stream began.
  Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const override;

 private:
  Value feature_of(Tape& tape, Parameters& parameters, const Value& x) const;
  Value projections_of(Tape& tape, Parameters& parameters, const Value& rows) const;
  Value with_weights(Tape& tape, const Value& v) const;
  Value normed(Tape& tape, Parameters& parameters, const Value& read, const Value& gates) const;
  Value log_decay(Tape& tape, Parameters& parameters, const Value& x) const;
  Value strength(Tape& tape, Parameters& parameters, const Value& x) const;

  kernels::RotaryTurn turn_of(const ModelUse& use, int64_t position) const;

  ScoreConfig score_;
  Shape heads_;  // N, H
  Shape state_;  // N, K, V
  int64_t d_model_;
  int64_t rotary_width_;  // columns of queries and keys that positions turn; 0: none do
  float scale_;           // of what is read
  float norm_epsilon_;
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
