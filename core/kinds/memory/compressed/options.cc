#include "core/kinds/memory/compressed/options.h"

#include <fmt/format.h>

#include <bit>

#include "base/json_fields.h"
#include "core/config/bounds.h"
#include "core/config/memory_kind.h"
#include "core/config/memory_row.h"
#include "core/config/visibility_kind.h"

namespace segue {

namespace {

void describe_compression(MemoryConfig& memory, JsonFields& fields) {
  const Kinds compressed(MemoryKind::kCompressed);
  fields.optional("compressed_len", memory.compressed_len,
                  {.meaning = "compressed rows of every layer's memory, in addition to model.mem_len others",
                   .unit = "rows",
                   .minimum = 1,
                   .maximum = kLongest,
                   .role = kUse,
                   .kinds = compressed});
  fields.optional(
      "compression_rate", memory.compression_rate,
      {.meaning = "number of rows that are compressed into one. training.tgt_len need not be a multiple of it",
       .unit = "rows",
       .minimum = 1,
       .maximum = kMostCompressed,
       .kinds = compressed});
  fields.optional("compression", memory.compression,
                  {.meaning = "how compression_rate rows become one", .kinds = compressed});
  fields.optional("reconstruction", memory.reconstruction,
                  {.meaning = "the loss that trains the compression, and only it", .kinds = compressed});
  fields.optional("reconstruction_weight", memory.reconstruction_weight,
                  {.meaning = "weight of that loss beside the model's. Reported losses of predictions leave it out",
                   .minimum = 0,
                   .role = kTraining,
                   .kinds = compressed});
}

bool is_learned(const MemoryConfig& memory) {
  return memory.compression == CompressionKind::kConvolution ||
         memory.compression == CompressionKind::kDilatedConvolution;
}

// A compression that there is, and a loss that it can learn from.
void check_compression(const ModelConfig& model, std::string_view source) {
  const MemoryConfig& memory = model.memory;
  const std::string compression = fmt::format(R"(model.memory.compression = "{}")", name_of_choice(memory.compression));
  const auto rate = static_cast<uint64_t>(memory.compression_rate);
  if (memory.compression == CompressionKind::kDilatedConvolution && (rate < 2 || !std::has_single_bit(rate)))
    throw_conflict({.key = "model.memory.compression_rate",
                    .expected = "a power of two above 1",
                    .with = compression,
                    .found = fmt::format("{}", rate)},
                   source);
  const ReconstructionKind found = reconstruction_of(memory);
  if (!is_learned(memory) && found != ReconstructionKind::kNone)
    throw_conflict({.key = "model.memory.reconstruction",
                    .expected = R"("none")",
                    .reason = {.because = "this compression learns nothing"},
                    .with = compression,
                    .found = in_quotes(name_of_choice(found))},
                   source);
}

// Rows are compressed before the segment is run that pushes them out, of which none can be; and whole groups at a time.
void check_compressed_lengths(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) {
  const int64_t mem_len = lengths.use.mem_len;
  const auto refuse_length = [&](const std::string& least, std::string_view because) {
    throw_conflict({.key = lengths.mem_len_key,
                    .expected = "at least " + least,
                    .reason = {.because = because},
                    .with = R"(model.memory.kind = "compressed")",
                    .found = fmt::format("{}", mem_len)},
                   source);
  };
  if (mem_len < lengths.tgt_len)
    refuse_length(fmt::format("{} = {}", lengths.tgt_len_key, lengths.tgt_len),
                  "what a segment pushes out must be older than the segment");
  const int64_t rate = model.memory.compression_rate;
  if (mem_len < rate)
    refuse_length(fmt::format("model.memory.compression_rate = {}", rate), "so many rows are compressed into one");
}

KindRequirements needs_of_compressed(const MemoryConfig& memory) {
  constexpr Reason kChosen{.because = "it chooses among rows that every query sees",
                           .with = R"(model.memory.compression = "most_used")"};
  constexpr Reason kMade{.because = "a compressed row stands for more than one token"};
  return {.visibility = {.choices = Kinds(VisibilityKind::kCausal, VisibilityKind::kFull),
                         .reason = keeps_most_used(memory) ? kChosen : kMade},
          .no_same_length = Reason{.because = "no query would see its oldest rows"},
          .no_documents = Reason{.because = "a compressed row can mix tokens of two documents"},
          .remembers_without_rows = true,
          .check_keys = check_compression,
          .check_lengths = check_compressed_lengths,
          .is_checked_last = true};
}

void take_over_compression(const MemoryConfig& memory, ModelUse& use) {
  use.compressed_len = memory.compressed_len;
  use.compression_rate = memory.compression_rate;
}

}  // namespace

ReconstructionKind reconstruction_of(const MemoryConfig& memory) {
  if (memory.reconstruction != ReconstructionKind::kAuto) return memory.reconstruction;
  return is_learned(memory) ? ReconstructionKind::kAttention : ReconstructionKind::kNone;
}

extern const MemoryRow kCompressedRow;
constexpr MemoryRow kCompressedRow{
    .describe = describe_compression,
    .needs = needs_of_compressed,
    .take_over = take_over_compression,
    .without_limit = [](const MemoryConfig& memory) -> std::string {
      return keeps_most_used(memory) ? R"(compression = "most_used")" : "";
    },
    .has_own_loss = [](const MemoryConfig& memory) { return reconstruction_of(memory) != ReconstructionKind::kNone; },
    .holds_a_segment = true,
    .is_like_a_window = false};

}  // namespace segue
