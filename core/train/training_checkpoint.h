// Saving and restoring a run: the model and everything of core/train/training_state.h.
#pragma once

#include <span>

#include "core/checkpoint/checkpoint_store.h"
#include "core/config/config.h"
#include "core/model/stored_model.h"
#include "core/train/optimizer.h"
#include "core/train/stream_group.h"
#include "core/train/training_state.h"

namespace segue {

// The state of a run, where it lives.
struct TrainingParts {
  Parameters& parameters;
  Optimizer& optimizer;
  std::span<StreamGroup> groups;
  TrainingState& state;
};

// Throws FileError when the system refuses; earlier checkpoints are then as they were.
void save_training(CheckpointStore& store, const TrainingParts& parts, const Config& config, const StoredModel& model);

// Throws CheckpointError when the checkpoint holds no training state, or one that does not fit the parts.
void restore_training(const Checkpoint& checkpoint, const TrainingParts& parts);

}  // namespace segue
