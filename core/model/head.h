// The head axis: tokens in, and the loss of predicted tokens out. Both share one table when weights are tied.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/operations.h"

namespace segue {

// One implementation per `model.head.kind`.
class Head {
 public:
  virtual ~Head() = default;
  virtual void declare_embedding(std::vector<ParameterSpec>& specs) const = 0;
  virtual void declare_output(std::vector<ParameterSpec>& specs) const = 0;

  // tokens [B, T] -> hidden states [B, T, D], scaled by sqrt(D), with dropout.
  virtual Value embed_tokens(Tape& tape, Parameters& parameters, Slot tokens) const = 0;

  // hidden states [B, T, D] and targets [B, T] -> the loss of every token, [B*T] nats.
  virtual Slot loss(Tape& tape, Parameters& parameters, const Value& hidden, Slot targets) const = 0;
};

std::unique_ptr<Head> make_head(const ModelConfig& model, int64_t vocab_size);

}  // namespace segue
