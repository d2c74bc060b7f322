// What a layer keeps beside its attention (Munkhdalai et al. 2024, arXiv:2404.07143, Infini-attention): a matrix for
// each head, which sums keys and values of all segments before, and which queries read as they attend.
#pragma once

#include <string>
#include <vector>

#include "core/attention/attention.h"
#include "core/attention/attention_memory.h"
#include "core/config/model_config.h"

namespace segue {

class InfiniMemory final : public AttentionMemory {
 public:
  InfiniMemory(const ModelConfig& model, const LayerName& layer);

  void declare(std::vector<ParameterSpec>& specs) const override;

  // Of one carried tensor, a state [B, N, H, H + 1]. What is read is an average of values; 0 before the second segment.
  Read read(Tape& tape, Parameters& parameters, const Segment& segment,
            const std::vector<Value>& carried) const override;
  Value mixed(Tape& tape, Parameters& parameters, const Read& read, const Value& attended,
              const Parameter& projection) const override;
  std::vector<Value> write(Tape& tape, const Read& segment, const std::vector<Value>& carried) const override;

 private:
  Value feature_of(Tape& tape, const Value& rows) const;

  Shape state_;         // N, H, H + 1
  std::string prefix_;  // of its parameters' names
};

}  // namespace segue
