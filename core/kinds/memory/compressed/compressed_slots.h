// What a memory that compresses binds and keeps on a segment's tape beside rows, layer by layer.
#pragma once

#include <vector>

#include "core/kinds/segment_tape.h"

namespace segue {

struct CompressedSlots final : MemorySlots {
  std::vector<Slot> inputs;      // kept, with a KV cache: the layer's input [B, T, D]
  std::vector<Slot> compressed;  // kept: what became of the rows that were pushed out; none where none are
  // Of the rows that are pushed out, where they are kept by it; with a KV cache bound and kept.
  std::vector<ReceivedAttention> received;
};

}  // namespace segue
