// What kinds share, and the choice of one.
#include "core/model/position.h"

#include <algorithm>

#include "core/model/attention.h"
#include "core/model/dropout_sites.h"
#include "core/model/position_kinds.h"
#include "core/model/visibility.h"

namespace segue {

void Position::declare_shared(std::vector<ParameterSpec>& /*specs*/) const {}

void Position::declare_layer(int64_t /*layer*/, std::vector<ParameterSpec>& /*specs*/) const {}

Value Position::encode(Tape& /*tape*/, int64_t /*keys*/) const { return {}; }

Value Position::enter(Tape& /*tape*/, Parameters& /*parameters*/, const Value& embedded, const Value& /*encoding*/,
                      Slot /*places*/) const {
  return embedded;
}

Position::Biases Position::biases(Parameters& /*parameters*/, int64_t /*layer*/) const { return {}; }

Value Position::distances(Tape& /*tape*/, Parameters& /*parameters*/, int64_t /*layer*/,
                          const Value& /*encoding*/) const {
  return {};
}

int64_t Position::distance_rows(int64_t keys) const {
  const int64_t clamp_len = model_.position.clamp_len;
  return clamp_len > 0 ? std::min(keys, clamp_len + 1) : keys;
}

Value Position::attend(Tape& tape, Parameters& parameters, int64_t layer, const Value& distances, const Value& qkv,
                       const Value& memory_kv) const {
  const Biases of_layer = biases(parameters, layer);
  return relative_attention(
      tape, {.heads = {model_.n_head, model_.d_head},
             .qkv = qkv,
             .memory_kv = memory_kv,
             .r = distances,
             .u = of_layer.u,
             .w = of_layer.w,
             .window = visible_window(model_),
             .dropatt = {.p = model_.dropatt, .site = layer_dropout_site(layer, LayerDropout::kAttentionScores)}});
}

std::unique_ptr<Position> make_position(const ModelConfig& model) {
  switch (model.position.kind) {
    case PositionKind::kRelative:
      return make_relative_position(model);
    case PositionKind::kSinusoidal:
      return make_sinusoidal_position(model);
    case PositionKind::kLearned:
      return make_learned_position(model);
    case PositionKind::kShaw:
      return make_shaw_position(model);
  }
  throw ContractError("unknown position kind");
}

}  // namespace segue
