// What a model learns: every parameter by name and shape, as its config says.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/model_config.h"
#include "core/tape/parameters.h"

namespace segue {

// Those of a model in the order of its parts. `vocabulary` is the dataset's.
std::vector<ParameterSpec> parameter_specs(const ModelConfig& model, int64_t vocabulary);

// The tokens that such a model's tables have rows for: the vocabulary's, and the mask token of a masked model.
int64_t tokens_of_tables(const ModelConfig& model, int64_t vocabulary);

// Those that belong to no part.
inline constexpr const char* kGlobalTokens = "global_stream.tokens";
inline constexpr const char* kFinalNorm = "final_norm";

}  // namespace segue
