// Absolute positions by a learned row for every position in a segment (Al-Rfou et al. 2018, with one table instead of
// one per layer).
#include "core/attention/absolute_position.h"

namespace segue {

namespace {

constexpr const char* kTable = "embedding.places";

class LearnedPosition : public AbsolutePosition {
 public:
  using AbsolutePosition::AbsolutePosition;

  void declare_shared(std::vector<ParameterSpec>& specs) const override {
    specs.push_back({kTable, {model_.position.max_positions, model_.d_model}});
  }

 protected:
  Value look_up_positions(Tape& tape, Parameters& parameters, const Value& /*encoding*/,
                          Slot positions) const override {
    return embed(tape, positions, parameters[kTable], {});
  }
};

}  // namespace

PositionMaker make_learned_position;
std::unique_ptr<Position> make_learned_position(const ModelConfig& model) {
  return std::make_unique<LearnedPosition>(model);
}

}  // namespace segue
