// The kernels of relative attention as an operation of the tape.
#pragma once

#include <memory>
#include <vector>

#include "core/attention/schedules.h"
#include "core/tape/parameters.h"
#include "core/tape/tape.h"

namespace segue {

// What rows of the memory receive of the attention of the segment, before dropout.
struct ReceivedAttention {
  Slot sums;          // [B, N, R] float32, written: of R rows
  Slot before;        // likewise, what is added to, of the rows that ReplayInfo::pushed_out says, at most R; or missing
  int64_t first = 0;  // of the rows, where nothing is added to
};

// Relative attention; see kernels/relative_attention.h for shapes. `r` comes from the positions.
struct RelativeAttentionInputs {
  Shape heads;               // N, H
  Value qkv;                 // [B, T, 3*N*H]
  Value memory_kv;           // [B, M, 2*N*H]
  bool is_kv_cache = false;  // of these, queries see the rows that ReplayInfo::memory_rows says
  Value r;                   // [P, N*H], or missing: scores have no distance terms
  Parameter u, w;            // [N, H], or missing: zeros
  Value bias = {};           // [N, E] float32 of distances, or missing; not with r
  Value gain = {};           // likewise, and not with u, w or bias
  int64_t window = 0;
  std::shared_ptr<LayerTiles> tiles;  // of what is seen, where the window does not say it or learned spans are shorter
  Slot reach;                         // [B, T] int32: the farthest distance that queries see, or missing: no limit
  Slot ahead;                         // [B, T] int32: how many keys after their own they see, or missing: none
  double pairs = 0.0;                 // that a head of one stream sees, but for the reach
  DropoutSite dropatt;
  std::vector<ReceivedAttention> received = {};
};
Value relative_attention(Tape& tape, const RelativeAttentionInputs& inputs);

}  // namespace segue
