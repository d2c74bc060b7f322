// A model explained to people: its parameters, what it computes and what it needs.
#pragma once

#include <cstdint>
#include <string>

#include "core/config/model_config.h"

namespace segue {

struct TrainingShape {
  int64_t tgt_len = 0;
  int64_t segments = 1;  // of a step
  int64_t scored = 0;    // newest tokens of a segment that are learned from; 0: all
  int64_t streams = 0;
  int64_t moments = 0;  // that the optimizer holds of every parameter
};

// Parameter table and counts, operations per token, reach in tokens, and the memory of a training step over `streams`
// streams of `tgt_len` tokens with full memory; several lines, each ended.
std::string describe_model(const ModelConfig& model, int64_t vocab_size, const TrainingShape& training);

}  // namespace segue
