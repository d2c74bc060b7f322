// Saving and restoring a run: the model and everything of core/train/training_state.h.
#pragma once

#include <span>

#include "core/checkpoint/checkpoint_store.h"
#include "core/config/config.h"
#include "core/model/stored_model.h"
#include "core/optimizer/optimizer.h"
#include "core/train/stream_group.h"
#include "core/train/training_state.h"
#include "data_pipeline/dataset.h"
#include "distributed/job.h"

namespace segue {

// The state of a run, where it lives.
struct TrainingParts {
  Parameters& parameters;
  Optimizer& optimizer;
  std::span<StreamGroup> groups;
  TrainingState& state;
};

// `further` are files of text that go along, such as those of core/model/stored_tokenizer.h. Called by all ranks: the
// first writes what they have in common, each the memory of its streams, and one manifest makes a checkpoint of it.
// Throws FileError when the system refuses; earlier checkpoints are then as they were.
void save_training(CheckpointStore& store, const TrainingParts& parts, const Config& config, const StoredModel& model,
                   const std::vector<TextFile>& further, Job& job);

// Throws CheckpointError when a run of this config cannot resume from the checkpoint: when that holds no training
// state, belongs to other tokens, another kind of optimizer or another number of streams.
void check_resumable(const Checkpoint& checkpoint, const Config& config, const Dataset& dataset);

// On any number of ranks, whatever number saved it; `batch_size` streams all together. Throws CheckpointError when the
// checkpoint holds no training state, that of another kind of optimizer, or one that does not fit the parts.
void restore_training(const Checkpoint& checkpoint, const TrainingParts& parts, int64_t batch_size);

}  // namespace segue
