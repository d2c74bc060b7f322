#include "base/json_fields.h"
#include "core/config/bounds.h"
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/config/objective_kind.h"
#include "core/config/visibility_kind.h"

namespace segue {

namespace {

void describe_encoder(MemoryConfig& memory, JsonFields& fields) {
  fields.optional("encoder_layers", memory.encoder_layers,
                  {.meaning = "number of layers of the encoder, as wide as the model's",
                   .minimum = 1,
                   .maximum = kMostLayers,
                   .kinds = Kinds(MemoryKind::kEncoder)});
}

KindRequirements needs_of_encoder(const MemoryConfig& /*memory*/) {
  constexpr Reason kSeen{.because = "every token sees all that the encoder makes"};
  return {.position = {.accepted = {.turns = true}, .reason = {.because = "the encoder also sees keys after a query"}},
          .some_memory = Reason{.because = "the encoder reads the tokens in memory"},
          .initial = {.choices = Kinds(InitialMemory::kEmpty), .reason = {.because = "this memory holds tokens"}},
          .objective = {.choices = Kinds(ObjectiveKind::kNextToken)},
          .visibility = {.choices = Kinds(VisibilityKind::kCausal), .reason = kSeen},
          .no_same_length = kSeen,
          .no_documents = Reason{.because = "the encoder would read tokens of two documents together"},
          .inspected = "which an encoder reads"};
}

}  // namespace

extern const MemoryRow kEncoderRow;
constexpr MemoryRow kEncoderRow{
    .describe = describe_encoder, .needs = needs_of_encoder, .is_seen_whole = true, .is_like_a_window = false};

}  // namespace segue
