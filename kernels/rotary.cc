// Rotary positions: what the arguments must be, and the frequencies.
#include "kernels/rotary.h"

#include <algorithm>
#include <cmath>

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

RotaryFrequencies frequencies_of(const RotaryTurn& turn) {
  RotaryFrequencies frequencies{};
  for (int64_t j = 0; j < turn.width / 2; ++j) {
    const double exponent = -2.0 * static_cast<double>(j) / static_cast<double>(turn.width);
    frequencies[static_cast<size_t>(j)] = std::pow(turn.base, exponent) / kFullTurn / turn.scaling;
  }
  return frequencies;
}

void check_angles(const Contract& contract, const RotaryTurn& turn, int64_t columns, std::string_view position) {
  const int64_t widest = std::min(columns, kMaxRotaryWidth);
  const auto number = [](int64_t n) { return static_cast<double>(n); };
  contract.number("width", number(turn.width), turn.width >= 0 && turn.width <= widest && turn.width % 2 == 0,
                  "an even number in [0, {}]", widest);
  contract.number("base", turn.base, turn.base >= 1.0 && std::isfinite(turn.base), "finite and at least 1");
  contract.number("scaling", turn.scaling, turn.scaling >= 1.0 && std::isfinite(turn.scaling), "finite and at least 1");
  contract.number(position, number(turn.first_position),
                  std::max(turn.first_position, -turn.first_position) <= kFarthestRotaryPosition, "in [-2^52, 2^52]");
}

namespace {

void check_turn(const Contract& contract, const RotaryTurn& turn, const Shape& shape) {
  contract.number("heads", static_cast<double>(turn.heads), turn.heads >= 0 && turn.heads <= shape[2], "in [0, {}]",
                  shape[2]);
  check_angles(contract, turn, shape[3], "first_position");
}

void run(Queue& queue, ConstTensorView from, const RotaryTurn& turn, TensorView to, float direction) {
  if (from.elements() == 0) return;
  queue.operations().rotary(
      queue, {.from = from, .to = to, .turn = turn, .direction = direction, .frequencies = frequencies_of(turn)});
}

}  // namespace

void rotary_forward(Queue& queue, const RotaryForward& args) {
  const Contract contract("rotary_forward");
  const DType a = contract.activation("x", args.x, 4);
  contract.tensor("y", args.y, a, args.x.shape);
  contract.same_or_disjoint("y", args.y, "x", args.x);
  check_turn(contract, args.turn, args.x.shape);
  run(queue, args.x, args.turn, args.y, 1.0F);
}

void rotary_backward(Queue& queue, const RotaryBackward& args) {
  const Contract contract("rotary_backward");
  const DType a = contract.activation("dy", args.dy, 4);
  contract.tensor("dx", args.dx, a, args.dy.shape);
  contract.same_or_disjoint("dx", args.dx, "dy", args.dy);
  check_turn(contract, args.turn, args.dy.shape);
  run(queue, args.dy, args.turn, args.dx, -1.0F);
}

}  // namespace segue::kernels
