// What memory tokens are on a segment's tape.
#pragma once

#include "core/kinds/segment_tape.h"

namespace segue {

struct TokenSlots final : MemorySlots {
  Slot read;     // [B, K, D], bound: those that the segment reads; none where streams begin
  Slot written;  // [B, K, D], kept: those that come next; none where no segment ends
};

}  // namespace segue
