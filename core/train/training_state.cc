#include "core/train/training_state.h"

#include "base/error.h"

namespace segue {

namespace {

// Beyond any run, and far enough from the end of int64_t that what is added or multiplied stays inside.
constexpr double kMostSteps = 1e12;
constexpr double kMostTokens = 1e15;
constexpr double kMostSeconds = 1e12;

}  // namespace

void TrainingState::describe(JsonFields& fields) {
  fields.required("step", step, {.meaning = "updates done", .unit = "steps", .minimum = 0, .maximum = kMostSteps});
  fields.required("optimizer_step", optimizer_step,
                  {.meaning = "updates of the optimizer", .unit = "steps", .minimum = 0, .maximum = kMostSteps});
  fields.required("tokens", tokens,
                  {.meaning = "tokens trained on", .unit = "tokens", .minimum = 0, .maximum = kMostTokens});
  fields.required("seconds", seconds,
                  {.meaning = "time spent training", .unit = "s", .minimum = 0, .maximum = kMostSeconds});
  fields.required("epoch", epoch, {.meaning = "epoch of the next segment", .minimum = 0, .maximum = kMostSteps});
  fields.required("row", row,
                  {.meaning = "position of the next segment in every stream",
                   .unit = "tokens",
                   .minimum = 0,
                   .maximum = kMostTokens});
  fields.required("evaluations", evaluations,
                  {.meaning = "evaluations done during training", .minimum = 0, .maximum = kMostSteps});
  fields.required("best_loss", best_loss, {.meaning = "lowest loss of these", .unit = "nats per token"});
  fields.required("best_step", best_step,
                  {.meaning = "step of the lowest loss", .unit = "steps", .minimum = 0, .maximum = kMostSteps});
  fields.required("dataset", dataset, {.meaning = "which tokens it was trained on"});
  fields.optional("plateau", plateau, {.meaning = "what schedule.kind = plateau has come to"});
  fields.optional(
      "evaluation_pending", evaluation_pending,
      {.meaning = "the run was stopped during the evaluation after this step, and makes it when it goes on"});
}

TrainingState read_training_state(const Checkpoint& checkpoint) {
  if (!checkpoint.contains(kStateFile))
    throw CheckpointError("{}: holds weights only, no training state; start from it with training.init_from",
                          checkpoint.directory().string());
  const std::string source = (checkpoint.directory() / kStateFile).string();
  auto state = checkpoint.read<TrainingState>(kStateFile);
  if (state.step != checkpoint.step())
    throw CheckpointError("{}: step: expected {}, the checkpoint's, found {}", source, checkpoint.step(), state.step);
  const auto check_within = [&](const char* key, int64_t found) {
    if (found > state.step)
      throw CheckpointError("{}: {}: expected at most {}, the step, found {}", source, key, state.step, found);
  };
  check_within("optimizer_step", state.optimizer_step);
  check_within("best_step", state.best_step);
  return state;
}

}  // namespace segue
