// Describes a model to people: its parameters, what it computes and what it needs.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_text.h"
#include "core/config/config.h"

namespace segue {

struct TrainingShape {
  StageLengths lengths;
  int64_t scored = 0;  // newest tokens of a step that are learned from; 0: all
  int64_t streams = 0;
  int64_t moments = 0;  // that the optimizer holds of every parameter
  Recompute recompute = Recompute::kNone;
};

// Parameter table and counts, operations per token, reach in tokens, and the memory of a training step over `streams`
// streams with full memory; several lines, each ended.
std::string describe_model(const ModelConfig& model, int64_t vocab_size, const TrainingShape& training);

// The same as numbers: {"config": of the model, "vocab_size", "parameters": {"all", "layers": without u and w,
// "encoder", "embedding"}, "reach": tokens back, null: without limit, "forward_flops_per_token",
// "training_flops_per_token", "training": {"tgt_len", "streams", "bytes": in all, "weight_bytes": with gradients and
// moments, "memory_bytes", "activation_bytes", "schedule_bytes"}, "tensors": [{"name", "shape", "elements",
// "is_learned"}]}
OrderedJson model_json(const ModelConfig& model, int64_t vocab_size, const TrainingShape& training);

}  // namespace segue
