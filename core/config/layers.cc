#include "core/config/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/error.h"
#include "core/config/depth_kind.h"
#include "core/config/position_kind.h"
#include "core/config/position_terms.h"
#include "core/config/score_kind.h"
#include "core/config/visibility_kind.h"

namespace segue {
namespace {

std::string override_key(size_t index) { return fmt::format("model.layers[{}]", index); }

// The override that names the layer, by its index.
std::optional<size_t> override_of(const ModelConfig& model, int64_t layer) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::vector<int64_t>& only = model.layers[i].only;
    if (std::find(only.begin(), only.end(), layer) != only.end()) return i;
  }
  return {};
}

std::optional<size_t> position_override(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = override_of(model, layer);
  return own && model.layers[*own].position ? own : std::nullopt;
}

std::optional<size_t> visibility_override(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = override_of(model, layer);
  return own && model.layers[*own].visibility ? own : std::nullopt;
}

std::optional<size_t> score_override(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = override_of(model, layer);
  return own && model.layers[*own].score ? own : std::nullopt;
}

// Of a visibility, or of how one is used.
template <typename Seen>
void narrow(VisibilityKind kind, double share, Seen& seen) {
  const auto narrow_one = [share](int64_t& window) {
    window = std::max<int64_t>(std::llround(share * static_cast<double>(window)), 1);
  };
  if (kind == VisibilityKind::kWindow) narrow_one(seen.window);
  if (kind != VisibilityKind::kSparse) return;
  for (PatternConfig& pattern : seen.patterns)
    if (pattern.kind == PatternKind::kWindow || pattern.kind == PatternKind::kDilated) narrow_one(pattern.window);
}

void check_names_of_layers(const ModelConfig& model, size_t index, std::string_view source) {
  const std::vector<int64_t>& only = model.layers[index].only;
  const std::string key = override_key(index) + ".only";
  if (only.empty()) throw ConfigError("{}: {}: expected the numbers of layers, found an empty list", source, key);
  for (size_t i = 0; i < only.size(); ++i) {
    const int64_t layer = only[i];
    if (layer >= model.n_layer)
      throw ConfigError("{}: {}: expected numbers from 0 to {}, below model.n_layer, found {}", source, key,
                        model.n_layer - 1, layer);
    const size_t named = override_of(model, layer).value_or(index);
    const bool is_repeated = std::count(only.begin(), only.end(), layer) > 1;
    if (named != index || is_repeated)
      throw ConfigError("{}: {}: expected every layer once, found {}, which {}.only also names", source, key, layer,
                        override_key(named));
  }
}

void check_override(const ModelConfig& model, size_t index, std::string_view source) {
  const LayerOverride& layers = model.layers[index];
  if (!layers.position && !layers.visibility && !layers.score)
    throw ConfigError("{}: {}: expected position, visibility or score, found none of them", source,
                      override_key(index));
  if (!layers.position) return;
  const auto refuse = [&](std::string_view expected, std::string_view because) {
    throw ConfigError(R"({}: {}.position.kind: expected {}, found "{}"; {})", source, override_key(index), expected,
                      name_of_choice(layers.position->kind), because);
  };
  const PositionTerms terms = offered_by(layers.position->kind);
  if (terms.vectors)
    refuse("a kind that works inside attention",
           "all layers share the embeddings, to which model.position.kind alone may add positions");
  if (terms == PositionTerms{} && offered_by(model.position.kind).vectors)
    refuse(fmt::format(R"(a kind that adds something with model.position.kind = "{}")",
                       name_of_choice(model.position.kind)),
           "tokens carry the positions of model.position through every layer");
}

// A table that layers share has one meaning.
void check_shared_buckets(const ModelConfig& model, std::string_view source) {
  std::optional<int64_t> first;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const PositionConfig& position = position_of_layer(model, layer);
    if (position.kind != PositionKind::kT5 || position.untie_r) continue;
    if (!first) first = layer;
    const PositionConfig& shared = position_of_layer(model, *first);
    const auto expect = [&](std::string_view key, int64_t expected, int64_t found) {
      if (found != expected)
        throw ConfigError("{}: {}.{}: expected {} as in {}, found {}; layers with untie_r = false share one table",
                          source, position_key(model, layer), key, expected, position_key(model, *first), found);
    };
    expect("t5_buckets", shared.t5_buckets, position.t5_buckets);
    expect("t5_max_distance", shared.t5_max_distance, position.t5_max_distance);
  }
}

}  // namespace

const PositionConfig& position_of_layer(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = position_override(model, layer);
  return own ? *model.layers[*own].position : model.position;
}

const VisibilityConfig& visibility_of_layer(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = visibility_override(model, layer);
  if (own) return *model.layers[*own].visibility;
  static const VisibilityConfig kAll;
  return keeps_state(model, layer) ? kAll : model.visibility;
}

const ScoreConfig& score_of_layer(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = score_override(model, layer);
  return own ? *model.layers[*own].score : model.score;
}

int64_t weights_of_layer(const ModelConfig& model, int64_t layer) {
  return model.depth.kind == DepthKind::kFixed ? layer : 0;
}

std::string prefix_of_layer(const ModelConfig& model, int64_t layer) {
  return fmt::format("layers.{}.", weights_of_layer(model, layer));
}

bool keeps_state(const ModelConfig& model, int64_t layer) {
  return score_of_layer(model, layer).kind == ScoreKind::kState;
}

int64_t state_layers(const ModelConfig& model) {
  int64_t count = 0;
  for (int64_t layer = 0; layer < model.n_layer; ++layer) count += keeps_state(model, layer) ? 1 : 0;
  return count;
}

int64_t state_keys(const ModelConfig& model, const ScoreConfig& score) {
  switch (score.feature) {
    case StateFeature::kDpfp:
      return 2 * model.d_head * score.shifts;
    case StateFeature::kPerformer:
      return score.random_features;
    case StateFeature::kRandomFourier:
      return 2 * score.random_features;
    case StateFeature::kSilu:
    case StateFeature::kIdentity:
    case StateFeature::kRelu:
    case StateFeature::kEluPlusOne:
      break;
  }
  return model.d_head;
}

int64_t rotary_width_of_layer(const ModelConfig& model, int64_t layer) {
  ModelConfig with_its_position = model;
  with_its_position.position = position_of_layer(model, layer);
  return with_its_position.position.kind == PositionKind::kRope ? rotary_width(with_its_position) : 0;
}

bool has_random_features(const ModelConfig& model) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    const StateFeature feature = score_of_layer(model, layer).feature;
    if (keeps_state(model, layer) && is_random(feature)) return true;
  }
  return false;
}

std::string position_key(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = position_override(model, layer);
  return own ? override_key(*own) + ".position" : "model.position";
}

std::string visibility_key(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = visibility_override(model, layer);
  return own ? override_key(*own) + ".visibility" : "model.visibility";
}

std::string score_key(const ModelConfig& model, int64_t layer) {
  const std::optional<size_t> own = score_override(model, layer);
  return own ? override_key(*own) + ".score" : "model.score";
}

std::string key_of_states(const ModelConfig& model) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer) {
    if (keeps_state(model, layer)) return score_key(model, layer);
  }
  return "";
}

ModelUse use_of_layer(const ModelConfig& model, const ModelUse& use, int64_t layer, double window_share) {
  ModelUse here = use;
  if (position_override(model, layer)) take_over(position_of_layer(model, layer), here);
  if (visibility_override(model, layer)) take_over(visibility_of_layer(model, layer), here);
  narrow(visibility_of_layer(model, layer).kind, window_share, here);
  here.layer = layer;
  return here;
}

ModelConfig narrowed(ModelConfig model, double window_share) {
  narrow(model.visibility.kind, window_share, model.visibility);
  for (LayerOverride& layers : model.layers)
    if (layers.visibility) narrow(layers.visibility->kind, window_share, *layers.visibility);
  return model;
}

void name_position_rows(ModelConfig& model, int64_t tgt_len) {
  const auto name = [&](PositionConfig& position) {
    ModelUse use = use_of(model);
    take_over(position, use);
    if (position.max_positions == 0) position.max_positions = position_rows(position, use, tgt_len);
  };
  name(model.position);
  for (LayerOverride& layers : model.layers) {
    if (layers.position) name(*layers.position);
  }
}

void check_layers(const ModelConfig& model, std::string_view source) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    check_names_of_layers(model, i, source);
    check_override(model, i, source);
  }
  check_shared_buckets(model, source);
}

}  // namespace segue
