#include "base/json_fields.h"
#include "core/config/bounds.h"
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"
#include "core/config/visibility_kind.h"

namespace segue {

namespace {

void describe_tokens(MemoryConfig& memory, JsonFields& fields) {
  fields.optional(
      "tokens", memory.tokens,
      {.meaning = "number of memory tokens of a stream (associative: of a segment), each a vector of model.d_model",
       .minimum = 1,
       .maximum = kLongest,
       .kinds = Kinds(MemoryKind::kTokens, MemoryKind::kAssociative)});
  fields.optional(
      "written", memory.written,
      {.meaning = "the input at the positions where a segment writes its memory", .kinds = Kinds(MemoryKind::kTokens)});
}

KindRequirements needs_of_tokens(const MemoryConfig& /*memory*/) {
  constexpr Reason kSeen{.because = "every token reads all memory tokens"};
  return {.objective = {.choices = Kinds(ObjectiveKind::kNextToken)},
          .visibility = {.choices = Kinds(VisibilityKind::kCausal), .reason = kSeen},
          .no_same_length = kSeen,
          .no_documents = kWrittenOnce,
          .hands_on_gradients = true,
          .remembers_without_rows = true};
}

void take_over_tokens(const MemoryConfig& memory, ModelUse& use) {
  use.memory_tokens = memory.tokens;
  use.read_tokens = memory.tokens;
}

}  // namespace

extern const MemoryRow kTokensRow;
constexpr MemoryRow kTokensRow{.describe = describe_tokens,
                               .needs = needs_of_tokens,
                               .take_over = take_over_tokens,
                               .without_limit = [](const MemoryConfig& memory) { return said_kind(memory); }};

}  // namespace segue
