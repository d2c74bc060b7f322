// Reversible layers: no key of their own.
#include "core/config/block_row.h"
#include "core/config/depth_kind.h"
#include "core/config/memory_row.h"

namespace segue {

namespace {

// What is added to one residual has no place beside two streams.
void check_additions(const ModelConfig& model, std::string_view source) {
  constexpr std::string_view kReversible = R"(model.block.kind = "reversible")";
  if (row_of(model.memory.kind).adds_to_residual)
    throw_conflict(
        {.key = "model.memory.kind",
         .expected = "another kind",
         .reason = {.because = "it adds what it remembers to one residual, and reversible layers have two streams"},
         .with = kReversible,
         .found = in_quotes(name_of_choice(model.memory.kind))},
        source);
  if (model.depth.kind == DepthKind::kHalting)
    throw_conflict({.key = "model.depth.kind",
                    .expected = "another kind",
                    .reason = {.because = "halting weighs one residual, and reversible layers have two streams"},
                    .with = kReversible,
                    .found = in_quotes(name_of_choice(model.depth.kind))},
                   source);
  if (model.depth.kind == DepthKind::kShared && model.depth.step_codes)
    throw_conflict({.key = "model.depth.step_codes",
                    .expected = "false",
                    .reason = {.because = "codes are added to one residual, and reversible layers have two streams"},
                    .with = kReversible,
                    .found = "true"},
                   source);
}

}  // namespace

extern const BlockRow kReversibleBlockRow;
constexpr BlockRow kReversibleBlockRow{
    .needs =
        [](const BlockConfig& /*block*/) {
          return KindRequirements{
              .no_recompute = Reason{.because = "reversible layers compute their branches again as it is"},
              .check_keys = check_additions};
        },
    .normalises_first = [](const BlockConfig& /*block*/) { return true; }};

}  // namespace segue
