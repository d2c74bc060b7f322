// Absolute positions by sinusoids (Vaswani et al. 2017, section 3.5).
#include "core/attention/absolute_position.h"
#include "core/attention/sinusoids.h"

namespace segue {

namespace {

class SinusoidalPosition : public AbsolutePosition {
 public:
  using AbsolutePosition::AbsolutePosition;

  Value encode(Tape& tape, int64_t keys, int64_t /*clamp_len*/) const override {
    return {.data = tape.constant(sinusoids(keys, model_.d_model), tape.activations()), .gradient = {}};
  }

 protected:
  Value look_up_positions(Tape& tape, Parameters& /*parameters*/, const Value& encoding,
                          Slot positions) const override {
    return look_up(tape, positions, encoding.data);
  }
};

}  // namespace

PositionMaker make_sinusoidal_position;
std::unique_ptr<Position> make_sinusoidal_position(const ModelConfig& model) {
  return std::make_unique<SinusoidalPosition>(model);
}

}  // namespace segue
