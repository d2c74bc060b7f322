#include "core/kinds/block/gated/options.h"

#include <fmt/format.h>

#include "base/json_fields.h"
#include "core/config/block_kind.h"
#include "core/config/block_row.h"
#include "core/config/bounds.h"

namespace segue {

namespace {

void describe_gates(BlockConfig& block, JsonFields& fields) {
  const Kinds gated(BlockKind::kGated);
  fields.optional("gate", block.gate,
                  {.meaning = "how what attention and feed-forward make joins the residual", .kinds = gated});
  fields.optional("gate_bias", block.gate_bias,
                  {.meaning = "every gate's bias at the start. The larger, the more a layer is the identity. The input "
                              "gate has none",
                   .role = kTraining,
                   .kinds = gated});
}

void check_bias(const ModelConfig& model, std::string_view source) {
  const double usual = BlockConfig().gate_bias;
  if (has_bias(model.block.gate) || model.block.gate_bias == usual) return;
  throw_conflict({.key = "model.block.gate_bias",
                  .expected = fmt::format("{}", usual),
                  .reason = {.because = "this gate has no bias"},
                  .with = fmt::format("model.block.gate = {}", in_quotes(name_of_choice(model.block.gate))),
                  .found = fmt::format("{}", model.block.gate_bias)},
                 source);
}

}  // namespace

extern const BlockRow kGatedBlockRow;
constexpr BlockRow kGatedBlockRow{
    .describe = describe_gates,
    .needs = [](const BlockConfig& /*block*/) { return KindRequirements{.check_keys = check_bias}; },
    .normalises_first = [](const BlockConfig& /*block*/) { return true; }};

}  // namespace segue
