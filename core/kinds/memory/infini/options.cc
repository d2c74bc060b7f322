#include <fmt/format.h>

#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"

namespace segue {

namespace {

KindRequirements needs_of_infini(const MemoryConfig& /*memory*/) {
  return {.objective = {.choices = Kinds(ObjectiveKind::kNextToken)},
          .no_documents = kGoesOn,
          .hands_on_gradients = true,
          .remembers_without_rows = true,
          .inspected = "sums of keys and values in every layer"};
}

// Behind a head's values the weights of their keys.
std::vector<CarriedTensor> carried_sums(const ModelConfig& model, int64_t layer) {
  return {{.name = fmt::format("infini.{}", layer),
           .shape = {model.n_head, model.d_head, model.d_head + 1},
           .change = CarriedChange::kGathered}};
}

}  // namespace

extern const MemoryRow kInfiniRow;
constexpr MemoryRow kInfiniRow{.needs = needs_of_infini, .carried = carried_sums};

}  // namespace segue
