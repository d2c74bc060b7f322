// The keys of state.json.
#include "core/train/training_state.h"

namespace segue {

void TrainingState::describe(JsonFields& fields) {
  fields.required("step", step, {.meaning = "updates done", .unit = "steps", .minimum = 0});
  fields.required("optimizer_step", optimizer_step,
                  {.meaning = "updates of the optimizer", .unit = "steps", .minimum = 0});
  fields.required("tokens", tokens, {.meaning = "tokens trained on", .unit = "tokens", .minimum = 0});
  fields.required("seconds", seconds, {.meaning = "time spent training", .unit = "s", .minimum = 0});
  fields.required("epoch", epoch, {.meaning = "epoch of the next segment", .minimum = 0});
  fields.required("row", row,
                  {.meaning = "position of the next segment in every stream", .unit = "tokens", .minimum = 0});
  fields.required("evaluations", evaluations, {.meaning = "evaluations done during training", .minimum = 0});
  fields.required("best_loss", best_loss, {.meaning = "lowest loss of these", .unit = "nats per token"});
  fields.required("best_step", best_step, {.meaning = "step of the lowest loss", .unit = "steps", .minimum = 0});
  fields.required("dataset", dataset, {.meaning = "checksum of the dataset's manifest"});
  fields.optional("plateau", plateau, {.meaning = "what schedule.kind = plateau has come to"});
  fields.optional(
      "evaluation_pending", evaluation_pending,
      {.meaning = "the run was stopped during the evaluation after this step, and makes it when it goes on"});
}

}  // namespace segue
