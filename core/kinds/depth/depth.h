// The depth axis: how many passes through layers a token takes, and what a pass begins and ends with. Which weights a
// layer has: core/config/layers.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/model_config.h"
#include "core/tape/halting.h"
#include "core/tape/operations.h"

namespace segue {

class Depth {
 public:
  explicit Depth(const ModelConfig& model);

  // A vector [D] for each pass, of shared layers: [L, D]; and what tokens halt by, where they do.
  void declare(std::vector<ParameterSpec>& specs) const;

  // The passes of a segment, one after another. Outlived by the depth.
  class Passes {
   public:
    // Of a step with `tokens` in each stream.
    Passes(const Depth& depth, Tape& tape, Parameters& parameters, int64_t tokens);

    // Records the residual [B, T, D] as pass number `pass` reads it: with its vector added, or as it is.
    Residual entered(int64_t pass, const Residual& residual);
    // And as the next one finds it: as before where a token has halted.
    Residual left(int64_t pass, const Residual& residual);
    // What all of them made of the tokens: what the last left, or the passes' rows by their weights.
    Residual output(const Residual& last);
    // How many passes each token took, [B, T] float32, kept; none where all take the same number.
    Slot taken() const { return halted_.passes; }

   private:
    const Depth& depth_;
    Tape& tape_;
    Parameters& parameters_;
    HaltingRule rule_;
    HaltedPasses halted_;
    Value before_;  // the rows that the pass found
    Value logits_;  // [B, T, 1]: whether it is their last
  };

 private:
  bool has_codes_, halts_;
  int64_t passes_, d_model_;
  double epsilon_, ponder_, bias_;
};

}  // namespace segue
