// The matrix products of which a model's training and evaluation consist, by their shapes.
#pragma once

#include <vector>

#include "core/config/config.h"
#include "core/tape/tape.h"

namespace segue {

struct ModelProducts {
  std::vector<TapeProduct> training;    // of a step of the last stage, with full memory
  std::vector<TapeProduct> evaluation;  // of such a segment, with what is made once of weights that do not change
};

// Those with weights, on a processor, in fp32: what attends and what scans states has others. Counted from tapes that
// are never replayed. An evaluation reads segments of training's length and streams with a full KV cache, as
// `segue bench eval` does.
ModelProducts products_of(const Config& config, int64_t vocab_size);

}  // namespace segue
