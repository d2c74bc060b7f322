// What a layer associates (Rodkin et al. 2024, arXiv:2407.04841, ARMT): a matrix for each head, in which the memory
// tokens at the end of every segment write by the delta rule, and which every token of later segments reads.
#pragma once

#include <string>
#include <vector>

#include "core/attention/attention.h"
#include "core/config/model_config.h"

namespace segue {

class Associations {
 public:
  Associations(const ModelConfig& model, const LayerName& layer);

  void declare(std::vector<ParameterSpec>& specs) const;

  // Records what x [B, R, D] reads of the associations [B, N, K, H] of earlier segments: [B, R, D].
  Value read(Tape& tape, Parameters& parameters, const Value& x, const Value& state) const;

  // Records what becomes of them once memory tokens [B, M, D], as the layer leaves them, have been written. It has a
  // gradient where a later segment of the step learns through it; where it has none, `tokens` come without one.
  Value write(Tape& tape, Parameters& parameters, const Value& tokens, const Value& state, bool is_read_on) const;

 private:
  Value feature_of(Tape& tape, const Value& rows) const;

  Shape state_;  // N, K, H
  int64_t d_model_;
  int64_t shifts_;
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
