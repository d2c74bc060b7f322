// Lengths and token counts over the stages of a run (`training.stages`).
#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"

namespace segue {

// Tokens that all streams still train on after `step`.
double tokens_after(const Config& config, int64_t step);

// Rows of the longest memory of any stage.
int64_t longest_memory(const Config& config);

// What step `step` has, in words for the log of a run: its lengths, and what else stages of the config change.
std::string describe_stage(const Config& config, int64_t step);

}  // namespace segue
