#include "core/kinds/memory/block_recurrent/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_fields.h"
#include "core/config/bounds.h"
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"

namespace segue {

namespace {

void describe_recurrence(MemoryConfig& memory, JsonFields& fields) {
  const Kinds recurrent(MemoryKind::kBlockRecurrent);
  fields.optional("states", memory.states,
                  {.meaning = "number of state vectors of a stream, each of model.d_model",
                   .minimum = 1,
                   .maximum = kLongest,
                   .kinds = recurrent});
  fields.optional("recurrent_layer", memory.recurrent_layer,
                  {.meaning = "the layer that carries the states, counted from 0; -1: the third from the top, or the "
                              "lowest of fewer layers",
                   .minimum = -1,
                   .maximum = kMostLayers - 1,
                   .kinds = recurrent});
  fields.optional("gate", memory.gate, {.meaning = "how a segment changes the states", .kinds = recurrent});
}

void check_recurrent_layer(const ModelConfig& model, std::string_view source) {
  if (model.memory.recurrent_layer < model.n_layer) return;
  throw_conflict({.key = "model.memory.recurrent_layer",
                  .expected = fmt::format("at most {}", model.n_layer - 1),
                  .reason = {.because = "layers are counted from 0"},
                  .with = fmt::format("model.n_layer = {}", model.n_layer),
                  .found = fmt::format("{}", model.memory.recurrent_layer)},
                 source);
}

KindRequirements needs_of_recurrence(const MemoryConfig& /*memory*/) {
  return {.objective = {.choices = Kinds(ObjectiveKind::kNextToken)},
          .no_documents = kGoesOn,
          .hands_on_gradients = true,
          .remembers_without_rows = true,
          .check_keys = check_recurrent_layer,
          .inspected = "state vectors of one layer"};
}

std::vector<CarriedTensor> carried_states(const ModelConfig& model, int64_t layer) {
  if (layer != recurrent_layer(model)) return {};
  return {{.name = fmt::format("recurrent.{}", layer),
           .shape = {model.memory.states, model.d_model},
           .change = CarriedChange::kAtEnds}};
}

}  // namespace

int64_t recurrent_layer(const ModelConfig& model) {
  const int64_t said = model.memory.recurrent_layer;
  return said >= 0 ? said : std::max<int64_t>(model.n_layer - 3, 0);
}

extern const MemoryRow kBlockRecurrentRow;
constexpr MemoryRow kBlockRecurrentRow{.describe = describe_recurrence,
                                       .needs = needs_of_recurrence,
                                       .carried = carried_states,
                                       .learns_from_later_segments = true};

}  // namespace segue
