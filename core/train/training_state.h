// The part of a checkpoint beside the model, from which a run resumes as if it had never stopped.
//
//   state.json             TrainingState: counters, position in the data, best score, schedule
//   config.json            the resolved configuration
//   optimizer.safetensors  every moment of the optimizer of every parameter, as "first_moment.NAME"
//   memory-F.safetensors   per layer "layers.L" [b, M, D]: the streams F .. F + b - 1 of all, written by the rank that
//                          held them
#pragma once

#include <cstdint>
#include <string>

#include "base/json_fields.h"
#include "core/checkpoint/checkpoint.h"
#include "core/optimizer/schedule.h"

namespace segue {

inline constexpr const char* kStateFile = "state.json";
inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";
inline constexpr const char* kMemoryFilePrefix = "memory-";

struct TrainingState {
  int64_t step = 0;  // updates done
  int64_t optimizer_step = 0;
  int64_t tokens = 0;    // trained on
  double seconds = 0.0;  // of training, all sessions together
  int64_t epoch = 0;     // position of the segment that comes next
  int64_t row = 0;
  int64_t evaluations = 0;  // done so far; without one there is no best loss
  double best_loss = 0.0;   // nats per token, the lowest of these
  int64_t best_step = 0;    // after which it was measured
  std::string dataset;      // Dataset::identity() of the split
  PlateauState plateau;     // of that schedule
  // The evaluation after the last step is still to be made: the run was stopped during it.
  bool evaluation_pending = false;
  void describe(JsonFields& fields);
};

// Throws CheckpointError when the checkpoint holds weights only, and naming the key when what is counted cannot be of
// one run: a step of another checkpoint, more updates of the optimizer than steps.
TrainingState read_training_state(const Checkpoint& checkpoint);

}  // namespace segue
