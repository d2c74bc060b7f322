// What a layer's states are on a segment's tape where weights are frozen: their keys and values are made once a
// segment, whatever parts it comes in.
#pragma once

#include "core/kinds/segment_tape.h"

namespace segue {

struct RecurrentSlots final : MemorySlots {
  Slot carried;   // [B, K, D] float32, bound: the states before the segment
  Slot state_kv;  // [B, K, 2*N*H], bound: their keys and values
  Slot token_kv;  // [B, T, 2*N*H], kept: those of the part's tokens, as the states attend to them
};

}  // namespace segue
