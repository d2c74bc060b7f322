// How far back in its text a model's output can depend on tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "core/config/model_config.h"

namespace segue {

// From how many tokens back information reaches the last query of a segment: T - 1 in the segment and M per layer, and
// more when M is not a multiple of T, as the oldest row of a memory has seen its own segment from the start. At most so
// many where strides pass by the oldest token or blocks are drawn, or where a memory that compresses has fewer than c -
// 1 rows waiting to be compressed. With an encoder just to the oldest token that it reads, through any number of
// layers. None where there is no limit: memory tokens and states may hand on what the first segment of a stream wrote,
// and which rows are used most depends on all that stood in memory beside them, chosen likewise.
std::optional<int64_t> reach_in_tokens(const ModelConfig& model, const ModelUse& use, int64_t tgt_len);

// How many tokens before a segment its losses depend on, rounded up to whole segments. None without a limit; nor where
// groups of rows that a memory compresses do not begin with segments, as which rows become one then depends on where
// their stream begins.
std::optional<int64_t> warm_up_in_tokens(const ModelConfig& model, const ModelUse& use, int64_t tgt_len);

}  // namespace segue
