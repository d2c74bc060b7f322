#include "core/config/kind_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.h"
#include "core/config/bounds.h"
#include "core/config/depth_kind.h"
#include "core/config/layers.h"
#include "core/config/position_kind.h"

namespace segue {
namespace {

// A decay for each head has one step and one rest; and what is erased as strongly as a step says, or under a key that
// is longer than 1, may be more than there is, so that the state grows without limit.
void check_strength(const ModelConfig& model, int64_t layer, std::string_view source) {
  const ScoreConfig& score = score_of_layer(model, layer);
  const std::string key = score_key(model, layer);
  const std::string strength = fmt::format(R"({}.strength = "{}")", key, name_of_choice(score.strength));
  if (score.erases && !score.unit_keys)
    throw_conflict({.key = key + ".unit_keys", .expected = "true", .with = key + ".erases = true", .found = "false"},
                   source);
  if (score.strength != StateStrength::kStep && score.strength != StateStrength::kRest) return;
  if (score.decay != StateDecay::kToken)
    throw_conflict({.key = key + ".decay",
                    .expected = R"("token")",
                    .with = strength,
                    .found = in_quotes(name_of_choice(score.decay))},
                   source);
  if (score.erases && score.strength == StateStrength::kStep)
    throw_conflict({.key = key + ".erases",
                    .expected = "false",
                    .reason = {.because = "a step may be above 1, and would erase more than there is"},
                    .with = strength,
                    .found = "true"},
                   source);
}

// A turn of keys passes through a state whose channels fade alike, and leaves no sum of weights what it was; features
// that are made of several columns are turned as if each were one.
void check_turns(const ModelConfig& model, int64_t layer, std::string_view source) {
  if (position_of_layer(model, layer).kind != PositionKind::kRope) return;
  const ScoreConfig& score = score_of_layer(model, layer);
  const auto refuse_kind = [&](std::string_view name, std::string_view expected, std::string_view because,
                               std::string_view found) {
    throw_conflict({.key = fmt::format("{}.{}", score_key(model, layer), name),
                    .expected = expected,
                    .reason = {.because = because},
                    .with = position_key(model, layer) + R"(.kind = "rope")",
                    .found = in_quotes(found)},
                   source);
  };
  if (score.decay == StateDecay::kChannel)
    refuse_kind("decay", R"("none", "fixed" or "token")",
                "rotated keys need a decay that is the same in all channels of a head", name_of_choice(score.decay));
  if (score.output_norm == StateNorm::kWeights)
    refuse_kind("output_norm", R"("head")", "weights of rotated keys may be below 0",
                name_of_choice(score.output_norm));
  if (is_random(score.feature) || score.feature == StateFeature::kDpfp)
    refuse_kind("feature", R"("silu", "identity", "relu" or "elu_plus_one")",
                "the others make features of several columns", name_of_choice(score.feature));
}

// What a key's features are made from, and what divides by their products.
void check_features(const ModelConfig& model, int64_t layer, std::string_view source) {
  const ScoreConfig& score = score_of_layer(model, layer);
  const std::string key = score_key(model, layer);
  const std::string_view feature = name_of_choice(score.feature);
  const ScoreConfig defaults;
  const auto refuse_unread = [&](std::string_view name, int64_t found, int64_t expected, std::string_view readers) {
    if (found == expected) return;
    throw ConfigError(R"({}: {}.{}: expected the default {} with {}.feature = "{}", found {}; only {} reads it)",
                      source, key, name, expected, key, feature, found, readers);
  };
  if (!is_random(score.feature))
    refuse_unread("random_features", score.random_features, defaults.random_features,
                  R"("performer" or "random_fourier")");
  if (score.feature != StateFeature::kDpfp) refuse_unread("shifts", score.shifts, defaults.shifts, R"("dpfp")");
  if (score.feature == StateFeature::kDpfp && score.shifts >= 2 * model.d_head)
    throw ConfigError("{}: {}.shifts: expected less than 2 * model.d_head = {}, found {}", source, key,
                      2 * model.d_head, score.shifts);
  if (const int64_t keys = state_keys(model, score); keys > kMostStateFeatures)
    throw ConfigError(R"({}: {}.{}: expected at most {} features in each head, found {}, which makes {} with )"
                      R"({}.feature = "{}" and model.d_head = {})",
                      source, key, score.feature == StateFeature::kDpfp ? "shifts" : "random_features",
                      kMostStateFeatures, score.feature == StateFeature::kDpfp ? score.shifts : score.random_features,
                      keys, key, feature, model.d_head);
  if (score.convolution == 1)
    throw ConfigError("{}: {}.convolution: expected 0 or at least 2 tokens, found 1", source, key);
  if (score.erases && score.feature == StateFeature::kPerformer)
    throw ConfigError(
        R"({}: {}.erases: expected false with {}.feature = "performer", found true; its keys have no fixed )"
        R"(length)",
        source, key, key);
  check_turns(model, layer, source);
  if (score.output_norm == StateNorm::kHead) return;
  if (score.erases)
    throw ConfigError(
        R"({}: {}.erases: expected false with {}.output_norm = "weights", found true; the weights would be )"
        R"(erased too)",
        source, key, key);
  if (score.feature == StateFeature::kSilu || score.feature == StateFeature::kIdentity)
    throw ConfigError(
        R"({}: {}.feature: expected "relu", "elu_plus_one", "dpfp", "performer" or "random_fourier" with )"
        R"({}.output_norm = "weights", found "{}"; its products are no weights)",
        source, key, key, feature);
}

}  // namespace

void check_mask_shares(const ModelConfig& model, std::string_view source) {
  constexpr double kRounding = 1e-9;  // of shares in decimals
  const ObjectiveConfig& objective = model.objective;
  const double left = 1.0 - objective.mask_token_share;
  if (objective.random_token_share > left + kRounding)
    throw ConfigError(
        "{}: model.objective.random_token_share: expected at most {:.6g} with model.objective.mask_token_share = {}, "
        "found {}; together they may be at most 1",
        source, left, objective.mask_token_share, objective.random_token_share);
}

void check_global_projections(const ModelConfig& model, std::string_view source) {
  const StreamProjections projections = model.global_stream.projections;
  if (projections == StreamProjections::kShared) return;
  throw_conflict({.key = "model.global_stream.projections",
                  .expected = R"("shared")",
                  .with = "model.global_stream.tokens = 0",
                  .found = in_quotes(name_of_choice(projections))},
                 source);
}

void check_shared_layers(const ModelConfig& model, std::string_view source) {
  if (model.layers.empty()) return;
  throw_conflict({.key = "model.layers",
                  .expected = "[]",
                  .reason = {.because = "all layers are the same one"},
                  .with = fmt::format("model.depth.kind = {}", in_quotes(name_of_choice(model.depth.kind))),
                  .found = fmt::format("{} of them", model.layers.size())},
                 source);
}

void check_halting(const ModelConfig& model, std::string_view source) {
  check_shared_layers(model, source);
  const ModelUse use = use_of(model);
  if (use.memory_tokens + use.read_tokens == 0) return;
  throw_conflict({.key = "model.memory.kind",
                  .expected = "a kind without memory tokens",
                  .reason = kTokensOfTheTextHalt,
                  .with = R"(model.depth.kind = "halting")",
                  .found = in_quotes(name_of_choice(model.memory.kind))},
                 source);
}

void check_state_keys(const ModelConfig& model, int64_t layer, std::string_view source) {
  check_strength(model, layer, source);
  check_features(model, layer, source);
}

void check_rows_of_states(const ModelConfig& model, const UsedLengths& lengths, std::string_view source) {
  if (lengths.use.mem_len == 0 || state_layers(model) < model.n_layer) return;
  throw_conflict({.key = lengths.mem_len_key,
                  .expected = "0",
                  .reason = kNoRows,
                  .with = score_key(model, 0) + R"(.kind = "state")",
                  .found = fmt::format("{}", lengths.use.mem_len)},
                 source);
}

}  // namespace segue
