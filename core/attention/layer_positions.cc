#include "core/attention/layer_positions.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/config/layers.h"
#include "core/config/position_kind.h"

namespace segue {

LayerPositions::LayerPositions(const ModelConfig& model) : model_(model), entry_(find_or_make(model.position)) {
  for (int64_t layer = 0; layer < model.n_layer; ++layer)
    of_layers_.push_back(find_or_make(position_of_layer(model, layer)));
}

size_t LayerPositions::find_or_make(const PositionConfig& position) {
  const auto found =
      std::find_if(distinct_.begin(), distinct_.end(), [&](const auto& each) { return each->config() == position; });
  if (found != distinct_.end()) return static_cast<size_t>(found - distinct_.begin());
  ModelConfig with_it = model_;
  with_it.position = position;
  distinct_.push_back(make_position(with_it));
  return distinct_.size() - 1;
}

// Not the model's own when every layer has another one, unless tokens enter by it.
bool LayerPositions::is_used(size_t index) const {
  return (index == entry_ && entry().terms().vectors) ||
         std::find(of_layers_.begin(), of_layers_.end(), index) != of_layers_.end();
}

void LayerPositions::declare_shared(std::vector<ParameterSpec>& specs) const {
  std::map<std::string, PositionKind> kinds;  // by the name of a parameter
  for (size_t i = 0; i < distinct_.size(); ++i) {
    std::vector<ParameterSpec> declared;
    if (is_used(i)) distinct_[i]->declare_shared(declared);
    for (ParameterSpec& spec : declared) {
      const PositionKind kind = distinct_[i]->config().kind;
      const auto [known, is_new] = kinds.try_emplace(spec.name, kind);
      if (is_new) specs.push_back(std::move(spec));
      if (known->second != kind)
        throw ContractError("positions {} and {} both share {}", name_of_choice(known->second), name_of_choice(kind),
                            known->first);
    }
  }
}

LayerPositions::Encodings LayerPositions::encode(Tape& tape, const ModelUse& use, int64_t keys,
                                                 const IsRead& is_read) const {
  struct Encoded {
    const Position* position;
    int64_t clamp_len;
    Value value;
  };
  std::vector<Encoded> all;
  const auto encoded = [&](const Position& position, int64_t clamp_len) -> Value {
    if (!is_read(position.terms())) return {};
    const auto same = std::find_if(all.begin(), all.end(), [&](const Encoded& each) {
      return each.position == &position && each.clamp_len == clamp_len;
    });
    if (same != all.end()) return same->value;
    all.push_back({&position, clamp_len, position.encode(tape, keys, clamp_len)});
    return all.back().value;
  };
  Encodings encodings;
  if (entry().terms().vectors) encodings.entry = encoded(entry(), use.clamp_len);
  for (int64_t layer = 0; layer < model_.n_layer; ++layer)
    encodings.layers.push_back(encoded(of_layer(layer), use_of_layer(model_, use, layer).clamp_len));
  return encodings;
}

}  // namespace segue
