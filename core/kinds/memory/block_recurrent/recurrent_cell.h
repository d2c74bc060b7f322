// What becomes of a layer's state vectors with every segment (Hutchins et al. 2022, arXiv:2203.07852, "Block-Recurrent
// Transformers"): they attend to one another and to the segment's tokens, and a gate puts what they got into them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/attention/layer_inputs.h"
#include "core/attention/schedules.h"
#include "core/config/model_config.h"

namespace segue {

class RecurrentCell {
 public:
  explicit RecurrentCell(const ModelConfig& model);

  int64_t layer() const { return layer_.number; }
  void declare(std::vector<ParameterSpec>& specs) const;

  // The states before a segment.
  struct States {
    Value vectors;  // [B, K, D]
    Value rows;     // [B, K, D]: behind a layer norm, each with its own embedding
    Value kv;       // [B, K, 2*N*H]: keys and values of these rows. Something recorded later overwrites their gradient
  };
  // Records them of what is carried, [B, K, D] float32.
  States begin(Tape& tape, Parameters& parameters, const Value& carried) const;

  // Records what is carried after a segment whose tokens have such keys and values [B, T, 2*N*H]. It has a gradient
  // where a later segment of the step learns through it; where not, the tokens' come without one.
  Value end(Tape& tape, Parameters& parameters, const States& states, const Value& token_kv, bool is_read_on) const;

 private:
  Value gated(Tape& tape, Parameters& parameters, const Value& before, const Value& attended, bool is_read_on) const;

  ModelConfig model_;
  LayerName layer_;
  std::string prefix_;  // of its parameters' names
  std::shared_ptr<Schedules> schedules_ = std::make_shared<Schedules>();
};

}  // namespace segue
