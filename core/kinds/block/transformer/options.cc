#include "base/json_fields.h"
#include "core/config/block_kind.h"
#include "core/config/block_row.h"

namespace segue {

namespace {

void describe_transformer(BlockConfig& block, JsonFields& fields) {
  fields.optional("pre_lnorm", block.pre_lnorm,
                  {.meaning = "layer norm before attention and feed-forward instead of after",
                   .kinds = Kinds(BlockKind::kTransformer)});
  fields.optional("final_norm", block.final_norm,
                  {.meaning = "a layer norm after the last layer, where layers do not end in one. Nothing else bounds "
                              "their sums. The authors' codes have none"});
}

void check_norms(const ModelConfig& model, std::string_view source) {
  if (model.block.final_norm && !model.block.pre_lnorm)
    throw_conflict({.key = "model.block.final_norm",
                    .expected = "false",
                    .reason = {.because = "every layer already ends in a layer norm"},
                    .with = "model.block.pre_lnorm = false",
                    .found = "true"},
                   source);
}

KindRequirements needs_of_transformer(const BlockConfig& /*block*/) { return {.check_keys = check_norms}; }

}  // namespace

extern const BlockRow kTransformerBlockRow;
constexpr BlockRow kTransformerBlockRow{.describe = describe_transformer,
                                        .needs = needs_of_transformer,
                                        .normalises_first = [](const BlockConfig& block) { return block.pre_lnorm; }};

}  // namespace segue
