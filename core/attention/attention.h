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
#include "core/attention/mixer.h"
#include "core/attention/position.h"
#include "core/attention/relative_attention.h"
#include "core/attention/schedules.h"

namespace segue {

class Attention final : public Mixer {
 public:
  // As make_mixer.
  Attention(const ModelConfig& model, const Position& position, std::shared_ptr<Schedules> schedules,
            const LayerName& layer, std::unique_ptr<AttentionMemory> memory);

  void declare(std::vector<ParameterSpec>& specs) const override;

  // Attention from x [B, T, D] to itself and the memory.
  Mixed mix(Tape& tape, Parameters& parameters, const Value& x, const LayerInputs& inputs) const override;

  Value keys_and_values(Tape& tape, Parameters& parameters, const Value& hidden, const ModelUse& use) const override;
  bool turns() const override { return position_.terms().turns; }
  Value content_of(Tape& tape, Parameters& parameters, const Value& x) const override;
  std::vector<Value> mixed_by_content(Tape& tape, Parameters& parameters, const Value& qkv,
                                      const std::vector<Value>& contexts) const override;

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
