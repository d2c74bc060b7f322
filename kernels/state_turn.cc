// Keys of a state, turned: what the arguments must be, and the angles.
#include "kernels/state_turn.h"

#include "kernels/check.h"
#include "kernels/operations.h"

namespace segue::kernels {

void state_turn(Queue& queue, const StateTurn& args) {
  const Contract contract("state_turn");
  contract.rank("from", args.from, 4);
  contract.floats("to", args.to, args.from.shape);
  contract.same_or_disjoint("to", args.to, "from", args.from);
  const RotaryTurn turn{
      .first_position = args.position, .width = args.width, .base = args.base, .scaling = args.scaling};
  check_angles(contract, turn, args.from.shape[2], "position");
  if (args.from.elements() == 0) return;
  queue.operations().state_turn(
      queue, {.from = args.from,
              .to = args.to,
              .width = args.width,
              .angles = angles_at(static_cast<double>(args.position), frequencies_of(turn), args.width)});
}

}  // namespace segue::kernels
