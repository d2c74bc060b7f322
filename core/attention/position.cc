// Shared by the kinds of positions, and the choice of one.
#include "core/attention/position.h"

#include "core/config/position_kind.h"

namespace segue {

void Position::declare_shared(std::vector<ParameterSpec>& /*specs*/) const {}

void Position::declare_layer(int64_t /*layer*/, std::vector<ParameterSpec>& /*specs*/) const {}

Value Position::encode(Tape& /*tape*/, int64_t /*keys*/, int64_t /*clamp_len*/) const { return {}; }

Value Position::enter(Tape& /*tape*/, Parameters& /*parameters*/, const Value& embedded, const Value& /*encoding*/,
                      Slot /*positions*/) const {
  return embedded;
}

Value Position::turn(Tape& /*tape*/, const Value& rows, int64_t /*first*/, const ModelUse& /*use*/) const {
  return rows;
}

Position::Biases Position::biases(Parameters& /*parameters*/, int64_t /*layer*/) const { return {}; }

Value Position::distances(Tape& /*tape*/, Parameters& /*parameters*/, int64_t /*layer*/,
                          const Value& /*encoding*/) const {
  return {};
}

Value Position::distance_biases(Tape& /*tape*/, Parameters& /*parameters*/, int64_t /*layer*/,
                                const Value& /*encoding*/, int64_t /*keys*/) const {
  return {};
}

Value Position::distance_gains(Tape& /*tape*/, Parameters& /*parameters*/, int64_t /*layer*/, int64_t /*keys*/) const {
  return {};
}

// One in the file of each kind.
PositionMaker make_relative_position;
PositionMaker make_sinusoidal_position;
PositionMaker make_learned_position;
PositionMaker make_rope_position;
PositionMaker make_shaw_position;
PositionMaker make_alibi_position;
PositionMaker make_t5_position;
PositionMaker make_kerple_position;
PositionMaker make_distance_aware_position;

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
    case PositionKind::kRope:
      return make_rope_position(model);
    case PositionKind::kAlibi:
      return make_alibi_position(model);
    case PositionKind::kT5:
      return make_t5_position(model);
    case PositionKind::kKerple:
      return make_kerple_position(model);
    case PositionKind::kDistanceAware:
      return make_distance_aware_position(model);
    case PositionKind::kNone:  // a causal mask alone lets later layers know positions (Haviv et al. 2022)
      return std::make_unique<Position>(model);
  }
  throw ContractError("unknown position kind");
}

}  // namespace segue
