// The depth axis: what a pass through a layer begins with. Which weights a layer has: core/config/layers.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/model_config.h"
#include "core/tape/operations.h"

namespace segue {

class Depth {
 public:
  explicit Depth(const ModelConfig& model);

  // A vector [D] for each pass, of shared layers: [L, D].
  void declare(std::vector<ParameterSpec>& specs) const;

  // Records the residual [B, T, D] as the pass reads it: with its vector added, or as it is.
  Residual entered(Tape& tape, Parameters& parameters, int64_t pass, const Residual& residual) const;

 private:
  bool has_codes_;
  int64_t passes_, d_model_;
};

}  // namespace segue
