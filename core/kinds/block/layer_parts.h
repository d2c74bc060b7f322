// The parts of a layer, which each kind of block wires in its own way: attention or a state, a feed-forward network,
// and a layer norm for each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/attention/mixer.h"
#include "core/tape/dropout_sites.h"
#include "core/tape/operations.h"

namespace segue {

class LayerParts {
 public:
  LayerParts(ModelConfig model, const LayerName& layer, std::unique_ptr<Mixer> mixer);

  const ModelConfig& model() const { return model_; }
  int64_t layer() const { return layer_; }
  const std::string& prefix() const { return prefix_; }  // of its parameters' names: "layers.L."
  const Mixer& mixer() const { return *mixer_; }

  void declare(std::vector<ParameterSpec>& specs) const;

  // Records what attention, or a state, makes of x [B, T, D], which comes as `as_read` makes it of a memory.
  Mixer::Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const;
  // Records what the feed-forward network makes of x [B, T, D].
  Value feed_forward(Tape& tape, Parameters& parameters, const Value& x, int64_t segment) const;

  // Their outputs [B, T, D] as branches of x, with the dropout of their place.
  Residual after_attention(const Value& x, const Value& branch, int64_t segment) const;
  Residual after_feed_forward(const Value& x, const Value& branch, int64_t segment) const;

  LayerNormParameters attention_norm(Parameters& parameters) const;
  LayerNormParameters feed_forward_norm(Parameters& parameters) const;

  // A memory of hidden states [B, M, D] as attention reads it: like x, from behind the same layer norm.
  Value as_read(Tape& tape, Parameters& parameters, const Value& hidden) const;
  // The same where neither the rows nor the norm learn from it.
  Value as_constants_read(Tape& tape, Parameters& parameters, const Value& rows) const;

 private:
  bool normalises_first() const;
  DropoutSite site(LayerDropout place, int64_t segment) const;
  std::string norm_name(const char* part) const;

  ModelConfig model_;
  int64_t layer_;
  std::string prefix_;
  std::unique_ptr<Mixer> mixer_;
};

}  // namespace segue
