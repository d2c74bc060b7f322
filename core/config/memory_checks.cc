// Checks of memory tokens, and of compressed rows: how many, by what, and who sees them.
#include "core/config/memory_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "base/error.h"
#include "core/config/bounds.h"
#include "core/config/layers.h"

namespace segue {
namespace {

// A compressed row is one key and stands for many tokens; and rows that are hidden from some queries are not used as
// others are.
void check_sight(const ModelConfig& model, std::string_view source) {
  const std::string_view because =
      keeps_most_used(model)
          ? R"(model.memory.compression = "most_used", which chooses among rows that every query sees)"
          : R"(model.memory.kind = "compressed", of whose rows some stand for more than one token)";
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const VisibilityConfig& seen = visibility_of_layer(model, layer);
    const std::string key = visibility_key(model, layer);
    if (seen.kind != VisibilityKind::kCausal && seen.kind != VisibilityKind::kFull)
      throw ConfigError(R"({}: {}.kind: expected "causal" or "full" with {}; found "{}")", source, key, because,
                        name_of_choice(seen.kind));
    if (seen.same_length)
      throw ConfigError(
          R"({}: {}.same_length: expected false with model.memory.kind = "compressed", whose oldest rows no query would )"
          "see; found true",
          source, key);
  }
}

[[noreturn]] void refuse(std::string_view source, const std::string& key, const std::string& expected, MemoryKind kind,
                         const std::string& found) {
  throw ConfigError(R"({}: {}: expected {} with model.memory.kind = "{}", found {})", source, key, expected,
                    name_of_choice(kind), found);
}

std::string quoted(std::string_view word) { return fmt::format(R"("{}")", word); }

void check_next_token(const ModelConfig& model, std::string_view source) {
  if (model.objective.is_masked())
    refuse(source, "model.objective.kind", R"("next_token")", model.memory.kind,
           quoted(name_of_choice(model.objective.kind)));
}

// What is remembered is seen by every token, which `as` says in words.
void check_view(const ModelConfig& model, const std::string& as, std::string_view source) {
  const MemoryKind kind = model.memory.kind;
  check_next_token(model, source);
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const VisibilityConfig& seen = visibility_of_layer(model, layer);
    const std::string key = visibility_key(model, layer);
    if (seen.kind != VisibilityKind::kCausal)
      refuse(source, key + ".kind", R"("causal", as )" + as + ",", kind, quoted(name_of_choice(seen.kind)));
    if (seen.same_length) refuse(source, key + ".same_length", "false, as " + as + ",", kind, "true");
  }
}

// A decay for each head has one step and one rest; and what is erased as strongly as a step says, or under a key that
// is longer than 1, may be more than there is, so that the state grows without limit.
void check_strength(const ModelConfig& model, int64_t layer, std::string_view source) {
  const ScoreConfig& score = score_of_layer(model, layer);
  const std::string key = score_key(model, layer);
  if (score.erases && !score.unit_keys)
    throw ConfigError("{}: {}.unit_keys: expected true with {}.erases = true, found false", source, key, key);
  if (score.strength != StateStrength::kStep && score.strength != StateStrength::kRest) return;
  if (score.decay != StateDecay::kToken)
    throw ConfigError(R"({}: {}.decay: expected "token" with {}.strength = "{}", found "{}")", source, key, key,
                      name_of_choice(score.strength), name_of_choice(score.decay));
  if (score.erases && score.strength == StateStrength::kStep)
    throw ConfigError(R"({}: {}.erases: expected false with {}.strength = "step", which may be above 1; found true)",
                      source, key, key);
}

// A turn of keys passes through a state whose channels fade alike, and leaves no sum of weights what it was; features
// that are made of several columns are turned as if each were one.
void check_turns(const ModelConfig& model, int64_t layer, std::string_view source) {
  if (position_of_layer(model, layer).kind != PositionKind::kRope) return;
  const ScoreConfig& score = score_of_layer(model, layer);
  const auto refuse_kind = [&](std::string_view name, std::string_view expected, std::string_view found) {
    throw ConfigError(R"({}: {}.{}: expected {} with {}.kind = "rope", found "{}")", source, score_key(model, layer),
                      name, expected, position_key(model, layer), found);
  };
  if (score.decay == StateDecay::kChannel)
    refuse_kind("decay", R"("none", "fixed" or "token", by which all channels of a head fade alike,)",
                name_of_choice(score.decay));
  if (score.output_norm == StateNorm::kWeights)
    refuse_kind("output_norm", R"("head", as turned weights may be below 0,)", name_of_choice(score.output_norm));
  if (is_random(score.feature) || score.feature == StateFeature::kDpfp)
    refuse_kind("feature", R"(one of single columns ("silu", "identity", "relu" or "elu_plus_one"))",
                name_of_choice(score.feature));
}

// What a key's features are made from, and what divides by their products.
void check_features(const ModelConfig& model, int64_t layer, std::string_view source) {
  const ScoreConfig& score = score_of_layer(model, layer);
  const std::string key = score_key(model, layer);
  const std::string_view feature = name_of_choice(score.feature);
  const ScoreConfig defaults;
  const auto refuse_unread = [&](std::string_view name, int64_t found, int64_t expected, std::string_view readers) {
    if (found == expected) return;
    throw ConfigError(R"({}: {}.{}: expected {}, the default, as only {} reads it, with {}.feature = "{}", found {})",
                      source, key, name, expected, readers, key, feature, found);
  };
  if (!is_random(score.feature))
    refuse_unread("random_features", score.random_features, defaults.random_features,
                  R"("performer" or "random_fourier")");
  if (score.feature != StateFeature::kDpfp) refuse_unread("shifts", score.shifts, defaults.shifts, R"("dpfp")");
  if (score.feature == StateFeature::kDpfp && score.shifts >= 2 * model.d_head)
    throw ConfigError("{}: {}.shifts: expected less than 2 * model.d_head = {}, found {}", source, key,
                      2 * model.d_head, score.shifts);
  if (const int64_t keys = state_keys(model, score); keys > kMostStateFeatures)
    throw ConfigError(R"({}: {}.{}: expected at most {} features of a head with {}.feature = "{}" and model.d_head = )"
                      R"({}, found {}, which makes {})",
                      source, key, score.feature == StateFeature::kDpfp ? "shifts" : "random_features",
                      kMostStateFeatures, key, feature, model.d_head,
                      score.feature == StateFeature::kDpfp ? score.shifts : score.random_features, keys);
  if (score.convolution == 1)
    throw ConfigError("{}: {}.convolution: expected 0 or at least 2 tokens, found 1", source, key);
  if (score.erases && score.feature == StateFeature::kPerformer)
    throw ConfigError(R"({}: {}.erases: expected false with {}.feature = "performer", whose keys have any length, )"
                      R"(found true)",
                      source, key, key);
  check_turns(model, layer, source);
  if (score.output_norm == StateNorm::kHead) return;
  if (score.erases)
    throw ConfigError(R"({}: {}.erases: expected false with {}.output_norm = "weights", which would be erased too, )"
                      R"(found true)",
                      source, key, key);
  if (score.feature == StateFeature::kSilu || score.feature == StateFeature::kIdentity)
    throw ConfigError(
        R"({}: {}.feature: expected one whose products are weights ("relu", "elu_plus_one", "dpfp", "performer" or )"
        R"("random_fourier") with {}.output_norm = "weights", found "{}")",
        source, key, key, feature);
}

}  // namespace

void check_memory_tokens(const ModelConfig& model, std::string_view source) {
  const MemoryConfig& memory = model.memory;
  if (memory.kind == MemoryKind::kTokens) check_view(model, "every token reads all memory tokens", source);
  if (memory.kind != MemoryKind::kAssociative) return;
  check_view(model, "memory tokens read the whole segment", source);
  const int64_t of_a_shift = 2 * model.d_head;
  const int64_t most = std::min<int64_t>(of_a_shift - 1, kMostStateFeatures / of_a_shift);
  if (most < 1)
    refuse(source, "model.d_head",
           fmt::format("at most {}, of which a shift makes {} features,", kMostStateFeatures / 2, kMostStateFeatures),
           memory.kind, fmt::format("{}", model.d_head));
  if (memory.shifts > most)
    refuse(source, "model.memory.shifts",
           fmt::format("at most {}, of {} features each and {} in all,", most, of_a_shift, kMostStateFeatures),
           memory.kind, fmt::format("{}", memory.shifts));
}

void check_infini_memory(const ModelConfig& model, std::string_view source) {
  if (has_infini_memory(model)) check_next_token(model, source);
}

void check_encoder(const ModelConfig& model, std::string_view source) {
  if (model.memory.kind != MemoryKind::kEncoder) return;
  using enum PositionKind;
  const PositionKind position = model.position.kind;
  if (position != kRope && position != kNone)
    refuse(source, "model.position.kind", R"("rope" or "none", as its encoder's keys also lie after a query,)",
           MemoryKind::kEncoder, quoted(name_of_choice(position)));
  if (model.mem_len == 0)
    refuse(source, "model.mem_len", "at least 1, the tokens that an encoder reads,", MemoryKind::kEncoder, "0");
  if (model.memory.initial == InitialMemory::kZeros)
    refuse(source, "model.memory.initial", R"("empty", as it remembers tokens,)", MemoryKind::kEncoder, R"("zeros")");
  check_view(model, "every token sees all that the encoder makes", source);
}

void check_states(const ModelConfig& model, std::string_view source) {
  const int64_t states = state_layers(model);
  if (states == 0) return;
  const auto refuse_with = [&](int64_t layer, const std::string& key, std::string_view expected,
                               std::string_view found) {
    throw ConfigError(R"({}: {}: expected {} with {}.kind = "state", found {})", source, key, expected,
                      score_key(model, layer), found);
  };
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    if (!keeps_state(model, layer)) continue;
    check_strength(model, layer, source);
    check_features(model, layer, source);
    const MemoryKind memory = model.memory.kind;
    if (memory != MemoryKind::kHiddenStates && memory != MemoryKind::kKeysValues)
      refuse_with(layer, "model.memory.kind", R"("hidden_states" or "keys_values")", quoted(name_of_choice(memory)));
    if (model.objective.is_masked())
      refuse_with(layer, "model.objective.kind", R"("next_token")", quoted(name_of_choice(model.objective.kind)));
    const std::string key = visibility_key(model, layer);
    const bool has_readers = key != "model.visibility" || states < model.n_layer;
    const VisibilityConfig& seen = has_readers ? visibility_of_layer(model, layer) : model.visibility;
    if (seen.kind != VisibilityKind::kCausal)
      refuse_with(layer, key + ".kind", R"("causal")", quoted(name_of_choice(seen.kind)));
    if (seen.same_length) refuse_with(layer, key + ".same_length", "false", "true");
  }
  check_rows_of_states(model, model.mem_len, "model.mem_len", source);
  if (states < model.n_layer) return;
  if (model.memory.kind != MemoryKind::kHiddenStates)
    refuse_with(0, "model.memory.kind", R"("hidden_states", as no layer has rows of memory,)",
                quoted(name_of_choice(model.memory.kind)));
}

void check_rows_of_states(const ModelConfig& model, int64_t mem_len, std::string_view mem_len_key,
                          std::string_view source) {
  if (mem_len == 0 || state_layers(model) < model.n_layer) return;
  throw ConfigError(R"({}: {}: expected 0, as no layer has rows of memory, with {}.kind = "state", found {})", source,
                    mem_len_key, score_key(model, 0), mem_len);
}

void check_compression(const ModelConfig& model, std::string_view source) {
  const MemoryConfig& memory = model.memory;
  if (memory.kind != MemoryKind::kCompressed) return;
  using enum CompressionKind;
  const auto rate = static_cast<uint64_t>(memory.compression_rate);
  if (memory.compression == kDilatedConvolution && (rate < 2 || !std::has_single_bit(rate)))
    throw ConfigError(
        R"({}: model.memory.compression_rate: expected a power of two above 1 with model.memory.compression = )"
        R"("dilated_convolution", found {})",
        source, rate);
  const ReconstructionKind found = reconstruction_of(memory);
  const bool learns = memory.compression == kConvolution || memory.compression == kDilatedConvolution;
  if (!learns && found != ReconstructionKind::kNone)
    throw ConfigError(
        R"({}: model.memory.reconstruction: expected "none" with model.memory.compression = "{}", which learns nothing; )"
        R"(found "{}")",
        source, name_of_choice(memory.compression), name_of_choice(found));
  check_sight(model, source);
}

void check_compressed_lengths(const ModelConfig& model, int64_t mem_len, std::string_view mem_len_key, int64_t tgt_len,
                              std::string_view tgt_len_key, std::string_view source) {
  if (model.memory.kind != MemoryKind::kCompressed) return;
  const auto refuse = [&](const std::string& least) {
    throw ConfigError(R"({}: {}: expected at least {} with model.memory.kind = "compressed", found {})", source,
                      mem_len_key, least, mem_len);
  };
  if (mem_len < tgt_len)
    refuse(fmt::format("{} = {}, so that what a segment pushes out is older than the segment,", tgt_len_key, tgt_len));
  const int64_t rate = model.memory.compression_rate;
  if (mem_len < rate) refuse(fmt::format("model.memory.compression_rate = {}, the rows that become one,", rate));
}

}  // namespace segue
