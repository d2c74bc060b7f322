// The visibility axis: which earlier keys a query sees.
#pragma once

#include <cstdint>
#include <optional>

#include "core/config/config.h"
#include "kernels/tile_schedule.h"

namespace segue {

// Whether a head's query sees the key `distance` tokens before it, if there is one. What one layer's use says, in every
// kind: kernels are given the same in other words.
bool sees(const ModelUse& use, int64_t head, int64_t distance);

// The number of newest keys a query sees, its own included; 0: all of memory and segment before it, or what patterns
// say. A window has as many whatever the memory; with `same_length` every query sees the same number, `mem_len` keys as
// in the authors' PyTorch code or one more as in their TensorFlow code (same_length_extra_key). Throws ConfigError when
// that would be none.
int64_t visible_window(const ModelUse& use);

// As many newest keys hold all that a query sees; 0: all of memory and segment.
int64_t keys_in_reach(const ModelUse& use);

// The most of them in any layer; 0: all.
int64_t widest_reach(const ModelConfig& model, const ModelUse& use);

// Pairs of query and key that a head of one stream sees, of `memory` keys and a segment of `tgt_len`; the mean over
// heads.
double visible_pairs(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory);

// The tiles of what one head sees of `memory` keys and a segment of `tgt_len`, whatever says it: one group.
kernels::TileSchedule tiles_seen(const ModelUse& use, int64_t head, int64_t tgt_len, int64_t memory);

// The tiles of what the heads of a layer see of `memory` keys and a segment of `tgt_len` by its patterns; one group
// when all see the same. Nothing where patterns say nothing.
std::optional<kernels::TileSchedule> schedule_of(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory);

}  // namespace segue
