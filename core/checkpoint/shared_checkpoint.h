// Chooses one checkpoint for all ranks. Each rank by itself might find another newest one: listings of a shared
// directory may be old, and a host may fail to read.
#pragma once

#include <optional>

#include "base/log.h"
#include "core/checkpoint/checkpoint.h"
#include "distributed/job.h"

namespace segue {

// Called by all ranks, with what the first one has chosen: it sends directory, step and the checksum of the manifest,
// and the others open that very checkpoint, of which a moment later they may still see the old content. None when there
// is none in the first rank. Throws CheckpointError in every rank when one of them finds something else, naming it, its
// host, and what it found. What others had to wait for goes into the first rank's log.
std::optional<Checkpoint> open_together(std::optional<Checkpoint> chosen, Job& job, Logger& logger);

}  // namespace segue
