// Checks that all ranks hold the same state where they must.
#pragma once

#include "core/train/training_checkpoint.h"
#include "distributed/job.h"

namespace segue {

// Compares checksums of the weights, of the optimizer's moments where every rank has all of them, and of the state of
// the run. Called by all ranks, with nothing queued. Throws PeerError in all of them when one holds something else than
// most do, naming the step and each such rank with its host.
void check_replicas(const TrainingParts& parts, Job& job);

}  // namespace segue
