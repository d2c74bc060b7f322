// Rotary positions (Su et al. 2021, arXiv:2104.09864): every layer turns its queries and keys by angles that grow with
// their position, so that scores know distances alone. Values are not turned.
#include "core/attention/position.h"

namespace segue {

namespace {

class RopePosition : public Position {
 public:
  using Position::Position;

  // All vectors of a row but those of its values, which come last.
  Value turn(Tape& tape, const Value& rows, int64_t first, const ModelUse& use) const override {
    const int64_t vectors = tape.shape(rows.data)[2] / model_.d_head;
    return rotary(tape, rows, model_.d_head,
                  {.first_position = first,
                   .heads = vectors - model_.n_head,
                   .width = rotary_width(model_),
                   .base = use.rotary_base,
                   .scaling = use.rotary_scaling});
  }
};

}  // namespace

PositionMaker make_rope_position;
std::unique_ptr<Position> make_rope_position(const ModelConfig& model) { return std::make_unique<RopePosition>(model); }

}  // namespace segue
