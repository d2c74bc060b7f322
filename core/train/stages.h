// What the stages of a run (`training.stages`) come to together.
#pragma once

#include <cstdint>

#include "core/config/config.h"

namespace segue {

// Tokens that all streams still train on after `step`.
double tokens_after(const Config& config, int64_t step);

// Rows of the longest memory of any stage.
int64_t longest_memory(const Config& config);

}  // namespace segue
