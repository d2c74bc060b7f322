#include <fmt/format.h>

#include <algorithm>

#include "base/json_fields.h"
#include "core/config/bounds.h"
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"
#include "core/config/visibility_kind.h"

namespace segue {

namespace {

void describe_associations(MemoryConfig& memory, JsonFields& fields) {
  fields.optional(
      "shifts", memory.shifts,
      {.meaning = "number of neighbours that each column of queries and keys is multiplied with (DPFP). Each neighbour "
                  "makes 2 d_head features, and a head's matrix has a row of d_head values for each feature",
       .minimum = 1,
       .maximum = kMostStateFeatures,
       .kinds = Kinds(MemoryKind::kAssociative)});
}

// Associations have a number of features that the scan of a state takes.
void check_association_sizes(const ModelConfig& model, std::string_view source) {
  const auto refuse_size = [source](std::string_view key, int64_t most, std::string_view because, int64_t found) {
    throw_conflict({.key = key,
                    .expected = fmt::format("at most {}", most),
                    .reason = {.because = because},
                    .with = R"(model.memory.kind = "associative")",
                    .found = fmt::format("{}", found)},
                   source);
  };
  const int64_t of_a_shift = 2 * model.d_head;
  const int64_t most = std::min<int64_t>(of_a_shift - 1, kMostStateFeatures / of_a_shift);
  if (most < 1)
    refuse_size("model.d_head", kMostStateFeatures / 2,
                fmt::format("one shift makes 2 * model.d_head features, at most {}", kMostStateFeatures), model.d_head);
  if (model.memory.shifts > most)
    refuse_size("model.memory.shifts", most,
                fmt::format("each shift makes {} features, at most {} in all", of_a_shift, kMostStateFeatures),
                model.memory.shifts);
}

KindRequirements needs_of_associations(const MemoryConfig& /*memory*/) {
  constexpr Reason kSeen{.because = "memory tokens read the whole segment"};
  return {.objective = {.choices = Kinds(ObjectiveKind::kNextToken)},
          .visibility = {.choices = Kinds(VisibilityKind::kCausal), .reason = kSeen},
          .no_same_length = kSeen,
          .no_documents = kWrittenOnce,
          .hands_on_gradients = true,
          .remembers_without_rows = true,
          .check_sizes = check_association_sizes,
          .inspected = "associations of every layer"};
}

std::vector<CarriedTensor> carried_associations(const ModelConfig& model, int64_t layer) {
  return {{.name = fmt::format("associations.{}", layer),
           .shape = {model.n_head, 2 * model.d_head * model.memory.shifts, model.d_head},
           .change = CarriedChange::kAtEnds}};
}

}  // namespace

extern const MemoryRow kAssociativeRow;
constexpr MemoryRow kAssociativeRow{
    .describe = describe_associations,
    .needs = needs_of_associations,
    .carried = carried_associations,
    .take_over = [](const MemoryConfig& memory, ModelUse& use) { use.memory_tokens = memory.tokens; },
    .without_limit = [](const MemoryConfig& memory) { return said_kind(memory); },
    .learns_from_later_segments = true,
    .adds_to_residual = true};

}  // namespace segue
