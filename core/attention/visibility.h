// The visibility axis: which keys a query sees.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "kernels/tile_schedule.h"

namespace segue {

// Says which keys a head's query sees of the `keys` up to its own, the last, and of the `ahead` after that: sets bit
// k % 64 of word k / 64 for key k. `position` is the query's in its stream, or any that lies whole periods before it.
// What one layer's use says, in every kind: kernels are given the same in other words. Without use.ahead none ahead.
// Those of a global stream are not among them.
void see_keys(const ModelUse& use, int64_t head, int64_t position, int64_t keys, std::span<uint64_t> bits,
              int64_t ahead = 0);

// The same of row `row` of the `rows` of a segment, the first token of which stands at `first_position`, and of
// `memory` keys. The rows of a global stream lie between memory and tokens, see all, and are seen by all.
void see_keys_of_row(const ModelUse& use, int64_t head, int64_t row, int64_t rows, int64_t memory,
                     int64_t first_position, std::span<uint64_t> bits);

// What patterns say is the same for positions so many tokens apart.
int64_t repeats_after(const ModelUse& use);

// For whom a pattern of random blocks draws: a head of a layer, among whose patterns it has this number.
struct DrawnFor {
  int64_t layer = 0, pattern = 0, head = 0;
};
// The blocks that it draws for a block of queries: how many blocks each lies before it, in no order.
std::vector<int64_t> drawn_blocks(const PatternConfig& pattern, const DrawnFor& whom, int64_t block_of_queries);

// The number of newest keys a query sees, its own included; 0: all of memory and segment before it, or what patterns
// say, beside a global stream. A window has as many whatever the memory; with `same_length` every query sees the same
// number, `mem_len` keys as in the authors' PyTorch code or one more as in their TensorFlow code
// (same_length_extra_key). Throws ConfigError when that would be none.
int64_t visible_window(const ModelUse& use);

// As many newest keys hold all that a query at this position of its stream sees; 0: all of memory and segment. Drawn
// blocks count as the farthest that may be drawn.
int64_t keys_in_reach(const ModelUse& use, int64_t position);

// The most of them in any layer, 0: all, for each position of what the patterns repeat after; one where they say the
// same everywhere.
std::vector<int64_t> widest_reach(const ModelConfig& model, const ModelUse& use);

// Pairs of query and key that a head of one stream sees, of `memory` keys and a segment of `tgt_len` that begins where
// a period does; the mean over heads.
double visible_pairs(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory);

// Tiles of 64 queries and 64 keys that hold some of them, likewise.
double visible_tiles(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory);

// The tiles of what one head sees of `memory` keys and such a segment, whatever says it: one group. Here and below
// `tgt_len` counts the rows of a global stream before the segment's own.
kernels::TileSchedule tiles_seen(const ModelUse& use, int64_t head, int64_t tgt_len, int64_t memory);

// The tiles of what the heads of a layer see by its patterns, of `memory` keys and `tgt_len` queries, the first token
// of them at `first_position` of its stream; one group when all see the same. Nothing where patterns say nothing.
std::optional<kernels::TileSchedule> schedule_of(const ModelUse& use, int64_t heads, int64_t tgt_len, int64_t memory,
                                                 int64_t first_position = 0);

}  // namespace segue
