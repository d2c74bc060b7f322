// The keys of a memory that compresses, and what follows from them.
#pragma once

#include "core/config/model_config.h"

namespace segue {

// The loss that trains the compression: what `auto` stands for where it is chosen.
ReconstructionKind reconstruction_of(const MemoryConfig& memory);

// Whether rows are kept by the attention that they received.
inline bool keeps_most_used(const MemoryConfig& memory) { return memory.compression == CompressionKind::kMostUsed; }

}  // namespace segue
