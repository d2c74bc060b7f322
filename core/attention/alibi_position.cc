// Attention with linear biases (Press et al. 2022): every head takes its slope times the distance from each score.
#include <cmath>

#include "core/attention/position.h"

namespace segue {

namespace {

// 2^(-8h/n) for the first heads, h = 1 .. n, n the largest power of two not above their number; for those left, every
// other slope of 2n heads.
double slope(int64_t head, int64_t heads) {
  int64_t n = 1;
  while (2 * n <= heads) n *= 2;
  const double h = head < n ? static_cast<double>(head + 1) : static_cast<double>(head - n) + 0.5;
  return std::exp2(-8.0 * h / static_cast<double>(n));
}

class AlibiPosition : public Position {
 public:
  using Position::Position;

  // The biases themselves, [N, keys] float32.
  Value encode(Tape& tape, int64_t keys, int64_t /*clamp_len*/) const override {
    OwnedTensor biases(DType::kFloat32, {model_.n_head, keys});
    float* bias = biases.as<float>();
    for (int64_t n = 0; n < model_.n_head; ++n) {
      for (int64_t d = 0; d < keys; ++d, ++bias)
        *bias = static_cast<float>(-slope(n, model_.n_head) * static_cast<double>(d));
    }
    return {.data = tape.constant(biases, DType::kFloat32), .gradient = {}};
  }

  Value distance_biases(Tape& /*tape*/, Parameters& /*parameters*/, int64_t /*layer*/, const Value& encoding,
                        int64_t /*keys*/) const override {
    return encoding;
  }
};

}  // namespace

PositionMaker make_alibi_position;
std::unique_ptr<Position> make_alibi_position(const ModelConfig& model) {
  return std::make_unique<AlibiPosition>(model);
}

}  // namespace segue
