// What an encoder reads on a segment's tape.
#pragma once

#include "core/kinds/segment_tape.h"

namespace segue {

struct EncoderSlots final : MemorySlots {
  Slot tokens;  // [B, M] int32, bound: the tokens of earlier segments
};

}  // namespace segue
